/** A distributed run, as its command stores it. */
export interface ChunkRun {
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
