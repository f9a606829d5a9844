import type { Operation } from '../../api/operations/table.js'
import type { EventKind } from '../../api/webhooks/events.js'
import type { Row } from '../output/records.js'

/** How work on a server stands, as far as this command can see it. */
export interface Seen {
  readonly state: 'going' | 'finished' | 'failed'
  /** Records so far. */
  readonly done: number
  /** Records that will come, where that is known. */
  readonly expected: number | undefined
  readonly truncated: boolean
  /** What went wrong, in the server's words. */
  readonly error: string | undefined
  /** Credits for what was found so far. */
  readonly spent: number
}

/** Work on a server that was accepted. */
export interface Started {
  readonly operation: Operation
  readonly kind: EventKind
  readonly id: string
  /** Whether the result is one thing: a list, or the contact that was asked for alone. */
  readonly single: boolean
  /** Most records that were asked for. */
  readonly limit: number | undefined
  /** Records that the reply promised; of waterfalls the contacts. */
  readonly expected: number | undefined
}

/** A way to learn what became of work on a server. */
export interface Watch {
  /** Follows the work to its end, or until `over`; it is told what is seen on the way. */
  follow(over: AbortSignal, onSeen: (seen: Seen) => void): Promise<Seen>
  /** The records in the order found, from the first on each time. */
  records(): AsyncIterable<Row>
}

/** Nothing yet. */
export const nothingSeen: Seen = {
  state: 'going',
  done: 0,
  expected: undefined,
  truncated: false,
  error: undefined,
  spent: 0,
}
