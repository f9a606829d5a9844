import type { Operation } from '../../api/operations/table.js'
import type { EventKind } from '../../api/webhooks/events.js'
import type { ClockContext } from '../context/context.js'
import { Stop } from '../context/errors.js'
import type { OperationRequest } from '../operation/request.js'
import { numberAt, type Row, valueAt } from '../output/records.js'
import { jobIdOf } from './result.js'

/** How work on a server stands, as far as this command knows. */
export interface WorkProgress {
  readonly state: 'going' | 'finished' | 'failed'
  /** Records so far. */
  readonly done: number
  /** Records that will come, where that is known. */
  readonly expected: number | undefined
  readonly truncated: boolean
  /** What went wrong, in the server's words. */
  readonly error: string | undefined
  /** Credits for the records so far. */
  readonly spent: number
}

/** Work that a server accepted. */
export interface AcceptedWork {
  readonly operation: Operation
  readonly kind: EventKind
  readonly id: string
  /** Whether the result is a single record: a list, or the only contact. */
  readonly single: boolean
  /** The most records that were requested. */
  readonly limit: number | undefined
  /** The records that the reply announced; for a waterfall, its contacts. */
  readonly expected: number | undefined
}

/** A way to follow work on a server. */
export interface Watch {
  /** Follows the work to its end, or until `over`. Calls `onProgress` on the way. */
  follow(over: AbortSignal, onProgress: (progress: WorkProgress) => void): Promise<WorkProgress>
  /** Yields all records in the order found. */
  records(): AsyncIterable<Row> | Iterable<Row>
}

/** Reads accepted work from the reply of a server; `undefined` where no work was started. */
export function toAcceptedWork(
  { operation: row, input }: OperationRequest,
  kind: EventKind,
  body: unknown,
): AcceptedWork | undefined {
  const id = jobIdOf(body)
  if (id === undefined) return undefined
  const contacts = valueAt(body, 'contacts')
  const isOne = kind === 'contact_enrichment' && !Array.isArray(contacts)
  const limit = numberAt(input, 'limit')
  const counted = ['total', 'total_count', 'preview_count', 'message.expected_profiles_count']
    .map((path) => numberAt(body, path))
    .find((count) => count !== undefined)
  const several = [contacts, input.companies].find(Array.isArray)?.length
  const expected = counted === undefined ? (isOne ? 1 : several) : Math.min(counted, limit ?? counted)
  return { operation: row, kind, id, single: isOne || kind === 'list_import', limit, expected }
}

/** A reply to a poll that makes no sense: later ones will not, either. */
export class UnreadableStatus extends Stop {
  constructor({ message, exit }: Stop) {
    super(message, exit, 'The server continues the job, and delivers its results to a webhook if it has one.')
  }
}

/** How long nothing may arrive before the server is polled too, in milliseconds: it may not reach this machine. */
const quietMs = 30_000

/**
 * Follows work by deliveries where it has any, and by polling, with deliveries only after a while. Returns how the work stood
 * at the end, and the watch that has its records.
 */
export async function followWatches(
  context: ClockContext,
  received: Watch | undefined,
  polled: Watch,
  over: AbortSignal,
  onProgress: (progress: WorkProgress) => void,
) {
  const by = async (watch: Watch, until: AbortSignal, report = onProgress) => ({
    progress: await watch.follow(until, report),
    watch,
  })
  if (!received) return by(polled, over)
  const done = new AbortController()
  let hasArrived = false
  const until = AbortSignal.any([over, done.signal])
  const polling = context
    .sleep(quietMs, until)
    .then(() => by(polled, until))
    // Polling ends the wait only with the end of the work: what arrives still counts.
    .then(
      (ended) => (ended.progress.state === 'going' ? undefined : ended),
      (error: unknown) => {
        // A server that has delivered nothing by then may never do so, and the wait would have no end.
        if (error instanceof UnreadableStatus && !hasArrived) throw error
        return undefined
      },
    )
  const arriving = by(received, until, (progress) => {
    hasArrived ||= progress.done > 0
    onProgress(progress)
  })
  try {
    return (await Promise.race([arriving, polling])) ?? (await arriving)
  } finally {
    done.abort()
  }
}

/** The progress of work that has not begun. */
export const noProgress: WorkProgress = {
  state: 'going',
  done: 0,
  expected: undefined,
  truncated: false,
  error: undefined,
  spent: 0,
}
