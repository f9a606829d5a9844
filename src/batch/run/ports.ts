import type { Caller } from '../../api/calls/caller.js'
import type { Clock, Ids } from '../../engine/ports/ports.js'
import type { Run, TargetAlias } from '../../storage/state/runs/runs.js'
import type { Batch } from './batch.js'
import type { Together } from './bulk.js'

/** Where this machine's records of runs are, and the clock and ids they are kept with. */
export interface RunHome {
  /** `state` is the path of the state database; the folders of locks and of piped input are beside it. */
  readonly home: { readonly state: string }
  readonly clock: Clock
  readonly ids: Ids
  /** Creates the folders of the home; throws where others can read them. */
  prepareHome(): void
  /** Adds work for the end of the command; the last added runs first. */
  onClose(work: () => Promise<void> | void): void
}

/** What a target is called on record, and was called before. */
export interface TargetNames {
  readonly name: string
  /** What an engine is known by wherever it is; `undefined` on a server, or before it has a workspace. */
  readonly engine?: string
  readonly formerly: readonly Omit<TargetAlias, 'knownBy'>[]
}

/** The target that answers the rows of a batch. */
export interface BatchTarget {
  /** The name that spending is counted under. */
  readonly profile: string
  names(): Promise<TargetNames>
  caller(): Promise<Caller>
  apiKey(): Promise<string | undefined>
  /** Returns how several rows of a run go out as one request; `undefined` where each goes by itself. */
  bulk(run: string): Promise<Together | undefined>
  /** Has workers answer the rows of a run, instead of this process. */
  distribute(run: Run, apiKey: string | undefined, signal: AbortSignal): Promise<Distribution>
}

/** A run whose rows are answered by workers. */
export interface Distribution extends Pick<Batch, 'caller' | 'concurrency'> {
  /** Returns the number of workers that take part. */
  workers(): number
}

/** What a run needs of its surroundings. */
export interface RunPorts extends RunHome {
  readonly target: BatchTarget
  readonly streams: {
    readonly stdin: NodeJS.ReadableStream
    readonly stdout: NodeJS.WritableStream
    readonly cwd: string
  }
  notify(text: string): void
}
