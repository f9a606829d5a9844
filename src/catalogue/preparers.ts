import type { Ids } from '../engine/ports.js'
import { type PreparedCompany, prepareCompany } from './company.js'
import { type PreparedJob, prepareJob } from './jobs.js'
import type { Given, Kind } from './kind.js'
import { type NewPerson, newPerson } from './new-person.js'
import { preparePerson } from './person.js'
import { type PreparedPost, preparePost } from './posts.js'

/** A record of each kind, read completely and ready to be written: plain data. */
export interface Prepared {
  readonly companies: PreparedCompany
  readonly people: NewPerson
  readonly jobs: PreparedJob
  readonly posts: PreparedPost
}

/** Reads a given record of each kind, completely, before anything of it is written; refuses with Unreadable. */
export const preparers: { readonly [K in Kind]: (given: Given, ids: Ids) => Prepared[K] } = {
  companies: prepareCompany,
  people: (given, ids) => newPerson(preparePerson(given), ids),
  jobs: prepareJob,
  posts: preparePost,
}
