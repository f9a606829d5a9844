import type { WireNames } from '../../api/calls/wire-names.js'
import {
  type Carried,
  creditsOfRecord,
  type DeliveredRecord,
  parseDelivery,
  recordKey,
} from '../../client/parse-delivery.js'
import type { Arrived } from '../../storage/state/webhook-inbox.js'
import type { Row } from '../output/records.js'
import type { Receiver } from './receiver.js'
import type { AcceptedWork, Watch, WorkProgress } from './watch.js'

/** How many deliveries are read at once. */
const atOnce = 100

/**
 * Watches work by the deliveries of the server, whose words in the names of fields are `names`. Duplicates count once; a result can come in parts or record by record.
 */
export function watchDeliveries(
  accepted: AcceptedWork,
  { events, token, arrived: awaitArrival }: Pick<Receiver, 'events' | 'token' | 'arrived'>,
  names: WireNames | undefined,
): Watch {
  const gathering = createGathering(accepted)
  const read = (one: Arrived): Carried => parseDelivery(accepted.kind, one, names)
  let last = 0
  const catchUp = async () => {
    for (;;) {
      const arrived = await events.arrived(token, last, atOnce)
      for (const one of arrived) gathering.take(one.seq, read(one))
      last = arrived.at(-1)?.seq ?? last
      if (arrived.length < atOnce) return gathering.progress()
    }
  }
  return {
    follow: async (over, onProgress) => {
      for (;;) {
        const progress = await catchUp()
        onProgress(progress)
        if (over.aborted || progress.state !== 'going') return progress
        await awaitArrival(over)
      }
    },
    async *records() {
      const printed = new Set<string>()
      for (const seq of gathering.order()) {
        const [arrived] = await events.arrived(token, seq - 1, 1)
        if (arrived?.seq === seq) yield* newRecords(read(arrived), printed)
      }
    },
  }
}

function* newRecords({ found }: Carried, printed: Set<string>): Generator<Row> {
  const sorted = [...found].sort((one, other) => (one.ordinal ?? 0) - (other.ordinal ?? 0))
  for (const one of sorted) {
    if (printed.has(recordKey(one))) continue
    printed.add(recordKey(one))
    yield one.record
  }
}

interface DeliveryPosition {
  readonly seq: number
  readonly first: number
}

/** Combines the deliveries of one command. Only keys of records are held in memory. */
function createGathering(accepted: AcceptedWork) {
  const known = new Set<string>()
  const positions: DeliveryPosition[] = []
  const parts = new Set<number>()
  const end = { parts: Number.POSITIVE_INFINITY, total: 0, truncated: false, spent: 0, failures: 0 }
  let error: string | undefined
  let isForeign = false
  const takeRecords = (seq: number, found: readonly DeliveredRecord[]) => {
    const newRecords = found.filter((one) => !known.has(recordKey(one)))
    for (const one of newRecords) {
      known.add(recordKey(one))
      end.spent += creditsOfRecord(accepted.operation, accepted.kind, one.record)
    }
    if (newRecords.length > 0) positions.push({ seq, first: firstOf(newRecords) })
  }
  return {
    /** Adds the delivery with the number `seq`; records that came before are ignored. */
    take: (seq: number, carried: Carried) => {
      takeRecords(seq, carried.found.filter(isAnswer))
      if (carried.phase === 'failed') {
        end.failures++
        error = carried.error ?? 'The server does not say why'
      }
      if (carried.phase === 'record') isForeign ||= carried.found.some(({ ordinal }) => ordinal === undefined)
      if (carried.phase !== 'completed') return
      parts.add(carried.part)
      end.parts = carried.parts
      end.total = carried.total ?? 0
      end.truncated ||= carried.truncated
    },
    /** Returns how the work stands by the deliveries so far. */
    progress: (): WorkProgress => {
      const isWhole = parts.size >= end.parts && known.size >= end.total
      // Other servers may send nothing after the last record.
      const isFull = isForeign && accepted.limit !== undefined && known.size >= accepted.limit
      const { truncated, spent } = end
      const expected = accepted.expected ?? (end.total || undefined)
      const state = stateOf(accepted, known.size, end.failures, isWhole || isFull)
      // A list is one record, however many companies it has.
      const isList = accepted.kind === 'list_import' && state === 'finished'
      const done = isList ? (accepted.expected ?? known.size) : known.size
      return { ...{ state, done, expected, truncated, spent }, error }
    },
    /** Returns the numbers of the deliveries with records, in the order in which the records were found. */
    order: () =>
      [...positions]
        .sort((one, other) => one.first - other.first || one.seq - other.seq)
        .map(({ seq }) => seq),
  }
}

function stateOf(
  { kind, expected = 1 }: AcceptedWork,
  done: number,
  failures: number,
  isWhole: boolean,
): WorkProgress['state'] {
  if (kind !== 'contact_enrichment') return failures > 0 ? 'failed' : isWhole ? 'finished' : 'going'
  if (done + failures < expected) return 'going'
  return failures > 0 ? 'failed' : 'finished'
}

/** Whether a record is a result: some servers also report contacts that are still pending. */
const isAnswer = ({ record }: DeliveredRecord): boolean =>
  record.status !== 'pending' || record.enrichment_id === undefined

/** Returns the lowest ordinal. Records without one come last, in the order of arrival. */
const firstOf = (found: readonly DeliveredRecord[]): number =>
  found.reduce(
    (least, { ordinal }) => Math.min(least, ordinal ?? Number.MAX_SAFE_INTEGER),
    Number.MAX_SAFE_INTEGER,
  )
