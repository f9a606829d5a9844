import { writeCompany } from './companies.js'
import { writeJob } from './jobs.js'
import type { Kind } from './kind.js'
import { writePerson } from './people.js'
import { writePost } from './posts.js'
import type { Prepared } from './preparers.js'
import type { Steps } from './steps.js'
import type { Writing, Written } from './writing.js'

/** Writes a record of each kind. It may still refuse with Unreadable, but only before it changes anything. */
export const writers: { readonly [K in Kind]: (writing: Writing, record: Prepared[K]) => Steps<Written> } = {
  companies: function* (writing, company) {
    return (yield* writeCompany(writing, company)).written
  },
  people: writePerson,
  jobs: writeJob,
  posts: writePost,
}
