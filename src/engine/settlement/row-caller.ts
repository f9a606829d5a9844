import type { Caller } from '../../api/calls/caller.js'
import type { FencingCheck } from './settlement.js'

/** Nothing was asked, for a reason that lies with this process: another one may ask. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** Who answers the rows of runs that are spread over machines. */
export interface RowCaller {
  /** The server that is asked; empty for the engine. */
  readonly source: string
  /** Chunks that a process is at side by side. */
  readonly chunksAtOnce: number
  /** Calls that a process has under way at once. */
  readonly atOnce: number
  /** Whether a call may be made again under its key, and is paid once. */
  mayRepeat(): Promise<boolean>
  /**
   * Calls as the member of a key; nothing is done here that the fence refuses. Of a call that rejects, nobody knows what
   * became, unless it is with NotAsked.
   */
  actingFor(keyId: string, checkFencing: FencingCheck): Pick<Caller, 'call'>
}
