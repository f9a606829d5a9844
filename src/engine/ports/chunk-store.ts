import type { Awaitable } from './awaitable.js'
import type { Lease } from './job-store.js'

/** A run whose rows are spread over machines, as its command keeps it. */
export interface ChunkRun {
  readonly run: string
  /** Of the key that its rows are called with; the key itself is nowhere. */
  readonly keyId: string
  /** The server that answers its rows; empty for the engine. */
  readonly source: string
  /** Fencing token of the command. */
  readonly token: string
  /** Real time until which the command is believed alive. */
  readonly leaseUntil: number
}

/** Rows of a run that one worker calls. */
export interface NewChunk {
  readonly id: string
  readonly run: string
  readonly operation: string
  /** The calls as JSON. */
  readonly calls: string
  /** Real time; earlier ones are taken first. */
  readonly createdAt: number
}

/** A chunk as its worker has it. */
export interface TakenChunk extends Omit<NewChunk, 'createdAt'> {
  readonly keyId: string
  readonly token: string
  /** How often it was taken, this time included. */
  readonly taken: number
}

/** A chunk that is answered. */
export interface AnsweredChunk {
  readonly id: string
  /** How often it was taken: more than once, and any of its calls may have been made before. */
  readonly taken: number
  /** What came of its calls, as JSON. */
  readonly replies: string
}

/** What there is for a worker. */
export interface ChunkWork {
  /** Runs whose commands live. */
  readonly runs: number
  /** How much was left behind by commands and workers that are gone. */
  readonly left: number
  readonly isDue: boolean
}

/** Moments of real time before which what was last heard of is cleared away. */
export interface StaleBefore {
  /** The chunks of a run, whose command may yet come back. */
  readonly chunks: number
  /** That there was the run. */
  readonly runs: number
  readonly workers: number
}

/** Questions about rows that are spread over machines. */
export interface ChunkReads {
  /** What there is for those who ask a source. */
  chunkWork(source: string, lease: Lease, before: StaleBefore): Awaitable<ChunkWork>
  /** Workers that take part for a source at a moment of real time. */
  chunkWorkers(source: string, now: number): Awaitable<number>
  /** Answered chunks of a run, at most `limit`. */
  answeredChunks(run: string, limit: number): Awaitable<readonly AnsweredChunk[]>
}

/** Changes to rows that are spread over machines. */
export interface ChunkWrites {
  /** Puts a run in the hands of a command, and drops its chunks: whoever is at one writes nothing of it any more. */
  takeChunkRun(run: ChunkRun): Awaitable<void>
  /** Answers whether the run is still in the hands of this token: as it was, anew where it was cleared away, or not. */
  renewChunkRun(run: string, token: string, leaseUntil: number): Awaitable<'kept' | 'anew' | 'lost'>
  dropChunkRun(run: string, token: string): Awaitable<void>
  /** Clears away what commands and workers left behind that are gone; a run remains in nobody's hands for a while. */
  dropDeadChunks(before: StaleBefore): Awaitable<void>
  /** Whether the run is in the hands of this token, which stays so until the transaction ends. */
  holdsChunkRun(run: string, token: string): Awaitable<boolean>
  addChunks(chunks: readonly NewChunk[]): Awaitable<void>
  dropChunks(ids: readonly string[]): Awaitable<void>
  /** Drops the chunks of a run that nobody has begun, or all that are not answered; answers their ids. */
  withdrawChunks(run: string, all: boolean): Awaitable<readonly string[]>
  /** Takes up the oldest chunk of a source that nobody has, of a run whose command lives. */
  claimChunk(
    claim: Lease & { readonly token: string; readonly source: string },
  ): Awaitable<TakenChunk | undefined>
  /** Whether a chunk is still this token's, which stays so until the transaction ends. */
  holdsChunk(id: string, token: string): Awaitable<boolean>
  renewChunk(id: string, token: string, leaseUntil: number): Awaitable<boolean>
  /** Writes down what came of a chunk; answers whether it was still this token's. */
  answerChunk(id: string, token: string, replies: string): Awaitable<boolean>
  /** A worker takes part until a moment of real time, or no longer. */
  keepChunkWorker(id: string, source: string, seenUntil: number | null): Awaitable<void>
}
