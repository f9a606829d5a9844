import type { Kind } from '../kinds/kind.js'
import { writeJob } from '../records/jobs.js'
import { writePost } from '../records/posts.js'
import { writeCompany } from '../records/write-company.js'
import type { Steps } from '../write/sync-steps.js'
import type { Writing, Written } from '../write/write-context.js'
import type { Prepared } from './preparers.js'
import { writePerson } from './write-person.js'

/** Writes a record of each kind. It may still refuse with Unreadable, but only before it changes anything. */
export const writers: { readonly [K in Kind]: (writing: Writing, record: Prepared[K]) => Steps<Written> } = {
  companies: function* (writing, company) {
    return (yield* writeCompany(writing, company)).written
  },
  people: writePerson,
  jobs: writeJob,
  posts: writePost,
}
