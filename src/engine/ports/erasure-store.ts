import type { Awaitable } from './awaitable.js'
import type { AsyncJob, Enrichment } from './job.js'

/** Where a stored reply is. */
export interface ReplyKey {
  readonly workspaceId: string
  readonly key: string
}

/** A stored reply with its body as JSON. */
export interface KeptReply extends ReplyKey {
  readonly body: string
}

/** What a job says besides its records. */
export type JobTexts = Pick<AsyncJob, 'name' | 'plan' | 'custom' | 'place' | 'error'>

/** Rows that were deleted, by what they are. */
export interface Dropped {
  readonly jobs: number
  readonly records: number
  readonly contacts: number
  readonly deliveries: number
}

/** Questions about all that is on record, of every workspace, in portions. */
export interface ErasureReads {
  /** Jobs with an id behind this one, in the order of their ids, at most `limit`. */
  jobsBehind(id: string, limit: number): Awaitable<readonly AsyncJob[]>
  /** Replies that were kept under keys behind this one, at most `limit`. */
  repliesBehind(after: ReplyKey, limit: number): Awaitable<readonly KeptReply[]>
  /** Replies to rows of runs with a number behind this one, at most `limit`. */
  runRepliesBehind(
    after: number,
    limit: number,
  ): Awaitable<readonly { readonly id: number; readonly body: string }[]>
}

/** Changes to what is on record, for whoever must not be on it any more. */
export interface ErasureWrites {
  /** Changes what a job says; whoever runs it loses it, and it goes on from where it stands. */
  rewriteJob(id: string, texts: Partial<JobTexts>): Awaitable<void>
  /**
   * Takes all jobs from whoever runs them, so that nothing that was found before is kept, and drops rows that are spread;
   * answers how many jobs.
   */
  takeBackJobs(): Awaitable<number>
  /** Changes a record, or drops it; the others keep their ordinals. */
  rewriteRecord(jobId: string, ordinal: number, record: string | undefined): Awaitable<void>
  rewriteEnrichment(
    id: string,
    change: Partial<Pick<Enrichment, 'firstName' | 'lastName' | 'custom'>>,
  ): Awaitable<void>
  /** Changes a stored reply, or drops it and frees its key. */
  rewriteReply(at: ReplyKey, body: string | undefined): Awaitable<void>
  /** Changes the reply to a row of a run; what it cost stays. */
  rewriteRunReply(id: number, body: string, status?: number): Awaitable<void>
  /**
   * Drops the oldest jobs that ended before a moment of engine time, at most `limit`, with their records, contacts and
   * deliveries. Those whose deliveries are not all made stay, and so do the imports of lists.
   */
  dropJobs(before: number, limit: number): Awaitable<Dropped>
  /** Drops all replies to the rows of a run, of every workspace; answers how many. */
  dropRepliesOfRun(run: string): Awaitable<number>
}

/** Somebody who is to be forgotten, as whatever is on record can be asked about them. */
export interface Forgotten {
  /** Whether a text or a value of JSON mentions them. */
  isIn(value: unknown): boolean
  /** Whether it is about them, and not about somebody or something else that mentions them in a text. */
  isAbout(value: unknown): boolean
  /** A value without their addresses, numbers and profiles, and without them among those who hire. */
  without<T>(value: T): T
  /** A text without their full name as well. */
  unnamed(text: string): string
}
