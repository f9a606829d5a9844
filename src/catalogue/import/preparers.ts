import type { Ids } from '../../engine/ports/ports.js'
import type { Given, Kind } from '../kinds/kind.js'
import { type PreparedCompany, prepareCompany } from '../records/company.js'
import { type PreparedJob, prepareJob } from '../records/jobs.js'
import { idMaker } from '../records/made-id.js'
import { type NewPerson, newPerson } from '../records/new-person.js'
import { preparePerson } from '../records/person.js'
import { type PreparedPost, preparePost } from '../records/posts.js'

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
