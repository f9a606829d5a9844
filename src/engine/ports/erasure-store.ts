import type { Awaitable } from './awaitable.js'
import type { AsyncJob, Enrichment } from './job.js'

/** The key of a stored reply. */
export interface ReplyKey {
  readonly workspaceId: string
  readonly key: string
}

/** A stored reply with its body as JSON. */
export interface KeptReply extends ReplyKey {
  readonly body: string
}

/** The texts of a job besides its records. */
export type JobTexts = Pick<AsyncJob, 'name' | 'plan' | 'custom' | 'place' | 'error'>

/** Number of deleted rows by kind. */
export interface Dropped {
  readonly jobs: number
  readonly records: number
  readonly contacts: number
  readonly deliveries: number
}

/** Reads of all stored personal data, of every workspace, in pages. */
export interface ErasureReads {
  /** Jobs after this id, in the order of their ids, at most `limit`. */
  jobsBehind(id: string, limit: number): Awaitable<readonly AsyncJob[]>
  /** Replies after this key, at most `limit`. */
  repliesBehind(after: ReplyKey, limit: number): Awaitable<readonly KeptReply[]>
  /** Replies to rows of runs after this number, at most `limit`. */
  runRepliesBehind(
    after: number,
    limit: number,
  ): Awaitable<readonly { readonly id: number; readonly body: string }[]>
}

/** Writes that erase personal data. */
export interface ErasureWrites {
  /** Changes the texts of a job. Its worker loses it, and it continues from where it stands. */
  rewriteJob(id: string, texts: Partial<JobTexts>): Awaitable<void>
  /**
   * Takes all jobs from their workers, so that nothing found earlier is stored, and deletes distributed rows. Returns
   * the number of jobs.
   */
  takeBackJobs(): Awaitable<number>
  /** Changes a record, or deletes it; the others keep their ordinals. */
  rewriteRecord(jobId: string, ordinal: number, record: string | undefined): Awaitable<void>
  rewriteEnrichment(
    id: string,
    change: Partial<Pick<Enrichment, 'firstName' | 'lastName' | 'custom'>>,
  ): Awaitable<void>
  /** Changes a stored reply, or deletes it and frees its key. */
  rewriteReply(at: ReplyKey, body: string | undefined): Awaitable<void>
  /** Changes the reply to a row of a run; its cost stays. */
  rewriteRunReply(id: number, body: string, status?: number): Awaitable<void>
  /**
   * Deletes the oldest jobs that ended before a moment of engine time, at most `limit`, with their records, contacts
   * and deliveries. Jobs with open deliveries and imports of lists stay.
   */
  dropJobs(before: number, limit: number): Awaitable<Dropped>
  /** Deletes all replies to the rows of a run, of every workspace. Returns how many. */
  dropRepliesOfRun(run: string): Awaitable<number>
}

/** Recognises and redacts the subject of an erasure in stored data. */
export interface Forgotten {
  /** Returns whether a text or JSON value mentions the subject. */
  isIn(value: unknown): boolean
  /** Returns whether a value is about the subject, and does not just mention it in a text. */
  isAbout(value: unknown): boolean
  /** Returns a value without the subject's addresses, numbers and profiles, and without them in hiring teams. */
  without<T>(value: T): T
  /** Returns a text that is also without the subject's full name. */
  unnamed(text: string): string
}
