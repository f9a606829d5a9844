import type { Operation } from '../../api/operations/table.js'
import type { EventKind } from '../../api/webhooks/events.js'
import type { ClockContext } from '../context/context.js'
import type { OperationRequest } from '../operation/request.js'
import { type Row, valueAt } from '../output/records.js'
import { jobIdOf } from './result.js'

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

/** Reads accepted work from the reply of a server; `undefined` where no work was started. */
export function toStarted(
  { operation: row, input }: OperationRequest,
  kind: EventKind,
  body: unknown,
): Started | undefined {
  const id = jobIdOf(body)
  if (id === undefined) return undefined
  const contacts = valueAt(body, 'contacts')
  const isOne = kind === 'contact_enrichment' && !Array.isArray(contacts)
  const limit = typeof input.limit === 'number' ? input.limit : undefined
  const counted = ['total', 'total_count', 'preview_count', 'message.expected_profiles_count']
    .map((path) => valueAt(body, path))
    .find((value): value is number => typeof value === 'number')
  const several = [contacts, input.companies].find(Array.isArray)?.length
  const expected = counted === undefined ? (isOne ? 1 : several) : Math.min(counted, limit ?? counted)
  return { operation: row, kind, id, single: isOne || kind === 'list_import', limit, expected }
}

/** How long nothing may arrive before the server is polled too, in milliseconds: it may not reach this machine. */
const quietMs = 30_000

/** How work stood at the end of a wait, and the watch that has its records. */
export interface Ended {
  readonly seen: Seen
  readonly watch: Watch
}

/** Follows work by deliveries, and after a while by polling too. At least one of the watches is given. */
export async function followWatches(
  context: ClockContext,
  received: Watch | undefined,
  polled: Watch | undefined,
  over: AbortSignal,
  onSeen: (seen: Seen) => void,
): Promise<Ended> {
  const by = async (watch: Watch, until: AbortSignal): Promise<Ended> => ({
    seen: await watch.follow(until, onSeen),
    watch,
  })
  if (!received) return by(polled as Watch, over)
  if (!polled) return by(received, over)
  const done = new AbortController()
  const until = AbortSignal.any([over, done.signal])
  const polling = context
    .sleep(quietMs, until)
    .then(() => by(polled, until))
    // Polling ends the wait only with the end of the work: what arrives still counts.
    .then(
      (ended) => (ended.seen.state === 'going' ? undefined : ended),
      () => undefined,
    )
  const arriving = by(received, until)
  const ended = (await Promise.race([arriving, polling])) ?? (await arriving)
  done.abort()
  return ended
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
