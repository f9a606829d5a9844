import type { Lease } from './job-store.js'
import type { Awaitable } from './state.js'

/** A distributed run, as its command stores it. */
interface ChunkRun {
  readonly run: string
  /** Id of the key that its rows are called with; the key itself is not stored. */
  readonly keyId: string
  /** Base address of the server that answers its rows; empty for the engine. */
  readonly source: string
  /** Fencing token of the command. */
  readonly token: string
  /** Real time until which the command counts as alive. */
  readonly leaseUntil: number
}

/** Rows of a run that one worker calls. */
export interface NewChunk {
  readonly id: string
  readonly run: string
  readonly operation: string
  /** The calls as JSON. */
  readonly calls: string
  /** Real time; the oldest chunk is taken first. */
  readonly createdAt: number
}

/** A chunk in the hands of a worker. */
export interface TakenChunk extends Omit<NewChunk, 'createdAt'> {
  readonly keyId: string
  readonly token: string
  /** How many times it was taken, this time included. */
  readonly taken: number
}

/** An answered chunk. */
export interface AnsweredChunk {
  readonly id: string
  /** How many times it was taken. After more than once, any of its calls may have been made before. */
  readonly taken: number
  /** The results of its calls, as JSON. */
  readonly replies: string
}

/** The work there is for a worker. */
export interface ChunkWork {
  /** Number of runs with a live command. */
  readonly runs: number
  /** Number of remains of dead commands and workers. */
  readonly left: number
  readonly isDue: boolean
}

/** Moments of real time; what was last heard of before them is deleted. */
export interface StaleBefore {
  /** For chunks of a run whose command may come back. */
  readonly chunks: number
  /** For the run itself. */
  readonly runs: number
  readonly workers: number
}

/** Reads of distributed rows. */
export interface ChunkReads {
  /** Returns the work for the workers of a source. */
  chunkWork(source: string, lease: Lease, before: StaleBefore): Awaitable<ChunkWork>
  /** Returns the number of active workers of a source at a moment of real time. */
  chunkWorkers(source: string, now: number): Awaitable<number>
  /** Returns answered chunks of a run, at most `limit`. */
  answeredChunks(run: string, limit: number): Awaitable<readonly AnsweredChunk[]>
}

/** Writes of distributed rows. */
export interface ChunkWrites {
  /** Gives a run to a command and deletes its chunks, so that no worker writes results for them. */
  takeChunkRun(run: ChunkRun): Awaitable<void>
  /** Renews a run. Returns `kept`, `anew` when its chunks had been deleted, or `lost` when another token has it. */
  renewChunkRun(run: string, token: string, leaseUntil: number): Awaitable<'kept' | 'anew' | 'lost'>
  dropChunkRun(run: string, token: string): Awaitable<void>
  /** Deletes what dead commands and workers left behind; the run itself stays for a while, without an owner. */
  dropDeadChunks(before: StaleBefore): Awaitable<void>
  /** Returns whether this token has the run, and keeps it so until the transaction ends. */
  holdsChunkRun(run: string, token: string): Awaitable<boolean>
  addChunks(chunks: readonly NewChunk[]): Awaitable<void>
  dropChunks(ids: readonly string[]): Awaitable<void>
  /** Deletes the chunks of a run that no worker took, or all unanswered ones. Returns their ids. */
  withdrawChunks(run: string, all: boolean): Awaitable<readonly string[]>
  /** Takes the oldest free chunk of a source, of a run with a live command. */
  claimChunk(
    claim: Lease & { readonly token: string; readonly source: string },
  ): Awaitable<TakenChunk | undefined>
  /** Returns whether this token has the chunk, and keeps it so until the transaction ends. */
  holdsChunk(id: string, token: string): Awaitable<boolean>
  renewChunk(id: string, token: string, leaseUntil: number): Awaitable<boolean>
  /** Stores the results of a chunk. Returns whether this token still had it. */
  answerChunk(id: string, token: string, replies: string): Awaitable<boolean>
  /** Announces a worker until a moment of real time; null withdraws it. */
  keepChunkWorker(id: string, source: string, seenUntil: number | null): Awaitable<void>
}
