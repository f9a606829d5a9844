import { idempotencyTtlMs } from '../../api/operations/facts.js'
import type { Driver } from '../../storage/driver/connection.js'
import { engineTime } from '../clock.js'
import type { Clock } from '../ports/ports.js'
import { dropRepliesOfRun } from '../settlement/settlement.js'
import { type Dropped, dropEndedJobs } from '../tables/jobs.js'
import { readClock } from '../tables/members.js'
import { dropReplies } from '../tables/replies.js'

/** Jobs deleted per transaction; a job may have many records. */
const jobsAtOnce = 50
const repliesAtOnce = 1_000

/**
 * Deletes ended work of all workspaces that is older than this by the engine's clock, and expired replies. Work in
 * progress, undelivered work and lists stay: searches refer to the companies of a list.
 */
export async function purgeWork(store: Driver, clock: Clock, olderThanMs: number) {
  const now = engineTime(await store.read((tx) => readClock(tx)), clock.now())
  const all = { jobs: 0, records: 0, contacts: 0, deliveries: 0, replies: 0 }
  for (let isMore = true; isMore; ) {
    const dropped = await store.transaction((tx) => dropEndedJobs(tx, now - olderThanMs, jobsAtOnce))
    for (const [name, count] of Object.entries(dropped)) all[name as keyof Dropped] += count
    isMore = dropped.jobs > 0
  }
  for (let isMore = true; isMore; ) {
    const dropped = await store.transaction((tx) => dropReplies(tx, now - idempotencyTtlMs, repliesAtOnce))
    all.replies += dropped
    isMore = dropped === repliesAtOnce
  }
  return all
}

/** Deletes the replies to rows of runs that no longer exist. Returns how many. */
export async function purgeRunReplies(store: Driver, runs: readonly string[]): Promise<number> {
  let dropped = 0
  for (const run of runs) dropped += await store.transaction((tx) => dropRepliesOfRun(tx, run))
  return dropped
}
