import type { WireNames } from '../../api/calls/wire-names.js'
import { type Carried, parseDelivery, recordKey } from '../../client/parse-delivery.js'
import type { Arrived, Events } from '../../storage/state/webhook-inbox.js'
import type { Row } from '../output/records.js'
import { createGathering } from './gather-deliveries.js'
import type { Started, Watch } from './progress.js'
import type { Receiver } from './receiver.js'

/** Deliveries that are read at once. */
const atOnce = 100

/** What arrives for a command, in the store where it was kept before it was answered. */
export interface Arrivals {
  readonly events: Events
  readonly receiver: Pick<Receiver, 'token' | 'arrived'>
  /** The server's words in the names of fields. */
  readonly names: WireNames | undefined
}

/** Work that is watched by what the server delivers; duplicates count once, parts and single records together. */
export function watchReceived(started: Started, { events, receiver, names }: Arrivals): Watch {
  const gathering = createGathering(started)
  const read = (one: Arrived): Carried => parseDelivery(started.kind, one, names)
  let last = 0
  const catchUp = async () => {
    for (;;) {
      const arrived = await events.arrived(receiver.token, last, atOnce)
      for (const one of arrived) gathering.take(one.seq, read(one))
      last = arrived.at(-1)?.seq ?? last
      if (arrived.length < atOnce) return gathering.seen()
    }
  }
  return {
    follow: async (over, onSeen) => {
      for (;;) {
        const seen = await catchUp()
        onSeen(seen)
        if (over.aborted || seen.state !== 'going') return seen
        await receiver.arrived(over)
      }
    },
    async *records() {
      const told = new Set<string>()
      for (const seq of gathering.order()) {
        const [arrived] = await events.arrived(receiver.token, seq - 1, 1)
        if (arrived?.seq === seq) yield* fresh(read(arrived), told)
      }
    },
  }
}

function* fresh({ found }: Carried, told: Set<string>): Generator<Row> {
  const sorted = [...found].sort((one, other) => (one.ordinal ?? 0) - (other.ordinal ?? 0))
  for (const one of sorted) {
    if (told.has(recordKey(one))) continue
    told.add(recordKey(one))
    yield one.record
  }
}
