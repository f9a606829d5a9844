import type { Ids } from '../engine/ports.js'
import { type PreparedCompany, prepareCompany } from './company.js'
import { type PreparedJob, prepareJob } from './jobs.js'
import type { Given, Kind } from './kind.js'
import { idMaker } from './made-id.js'
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

/** Reads a given record, completely, before anything of it is written; refuses with Unreadable. */
export type Preparer<K extends Kind> = (given: Given) => Prepared[K]

/** Makes the preparer of the records of each kind, for one file. */
export const preparers: { readonly [K in Kind]: (ids: Ids) => Preparer<K> } = {
  companies: (ids) => (given) => prepareCompany(given, ids),
  people: (ids) => {
    const makeId = idMaker(ids)
    return (given) => newPerson(preparePerson(given), ids, makeId)
  },
  jobs: () => prepareJob,
  posts: () => preparePost,
}
