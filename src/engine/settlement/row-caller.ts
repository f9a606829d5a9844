import type { Caller } from '../../api/calls/caller.js'
import type { FencingCheck } from './settlement.js'

/** Thrown when nothing was sent for a reason of this process: another process may send it. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** Answers the rows of distributed runs. */
export interface RowCaller {
  /** Base address of the server; empty for the engine. */
  readonly source: string
  /** Most chunks of a process in progress at once. */
  readonly chunksAtOnce: number
  /** Most calls of a process in flight at once. */
  readonly atOnce: number
  /** Returns whether a call may be repeated under its key and is charged once. */
  mayRepeat(): Promise<boolean>
  /**
   * Calls as the member of a key; nothing is written that the fencing check refuses. The outcome of a rejected call
   * is unknown, unless it is `NotSent`.
   */
  actingFor(keyId: string, checkFencing: FencingCheck): Pick<Caller, 'call'>
}
