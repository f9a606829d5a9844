import { writeCompany } from './companies.js'
import { prepareCompany } from './company.js'
import { prepareJob, writeJob } from './jobs.js'
import type { Given, Kind } from './kind.js'
import { writePerson } from './people.js'
import { preparePerson } from './person.js'
import { preparePost, writePost } from './posts.js'
import type { Writing, Written } from './writing.js'

/** Writes one record. It may still refuse with Unreadable, but only before it changes anything. */
export type Write = (writing: Writing) => Written

/** A record that was read and can be written. */
export interface Prepared {
  readonly line: number
  readonly write: Write
}

/** Reads a given record of each kind, completely, before anything of it is written; refuses with Unreadable. */
export const preparers: Readonly<Record<Kind, (given: Given) => Write>> = {
  companies: (given) => {
    const company = prepareCompany(given)
    return (writing) => writeCompany(writing, company).written
  },
  people: (given) => {
    const person = preparePerson(given)
    return (writing) => writePerson(writing, person)
  },
  jobs: (given) => {
    const job = prepareJob(given)
    return (writing) => writeJob(writing, job)
  },
  posts: (given) => {
    const post = preparePost(given)
    return (writing) => writePost(writing, post)
  },
}
