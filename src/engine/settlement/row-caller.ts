import type { Caller } from '../../api/calls/caller.js'
import type { Fence } from './settlement.js'

/** Nothing was asked, for a reason that lies with this process: another one may ask. */
export class NotAsked extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** Who answers the rows of runs that are spread over machines. */
export interface Answering {
  /** The server that is asked; empty for the engine. */
  readonly source: string
  /** Chunks that a process is at side by side. */
  readonly places: number
  /** Calls that a process has under way at once. */
  readonly atOnce: number
  /** Whether a call may be made again under its key, and is paid once. */
  mayRepeat(): Promise<boolean>
  /**
   * Calls as the member of a key; nothing is done here that the fence refuses. Of a call that rejects, nobody knows what
   * became, unless it is with NotAsked.
   */
  actingFor(keyId: string, fence: Fence): Pick<Caller, 'call'>
}
