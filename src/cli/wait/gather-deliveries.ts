import { type Carried, creditsOfRecord, type Found, recordKey } from '../../client/parse-delivery.js'
import type { Seen, Started } from './progress.js'

/** Deliveries of one command, put together; only what they are known by is held. */
export interface Gathering {
  /** Takes the delivery with the number `seq`; what came before is taken once. */
  take(seq: number, carried: Carried): void
  /** How the work stands by what was taken. */
  seen(): Seen
  /** The deliveries with records, in the order in which those were found. */
  order(): readonly number[]
}

interface Place {
  readonly seq: number
  readonly first: number
}

/** Makes an empty gathering of accepted work. */
export function createGathering(started: Started): Gathering {
  const known = new Set<string>()
  const places: Place[] = []
  const parts = new Set<number>()
  const end = { parts: Number.POSITIVE_INFINITY, total: 0, truncated: false, spent: 0, failures: 0 }
  let error: string | undefined
  let isForeign = false
  const takeRecords = (seq: number, found: readonly Found[]) => {
    const fresh = found.filter((one) => !known.has(recordKey(one)))
    for (const one of fresh) {
      known.add(recordKey(one))
      end.spent += creditsOfRecord(started.operation, started.kind, one.record)
    }
    if (fresh.length > 0) places.push({ seq, first: firstOf(fresh) })
  }
  return {
    take: (seq, carried) => {
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
    seen: () => {
      const isWhole = parts.size >= end.parts && known.size >= end.total
      // Others may have nothing more to say after the last record.
      const isFull = isForeign && started.limit !== undefined && known.size >= started.limit
      const { truncated, spent } = end
      const expected = started.expected ?? (end.total || undefined)
      const state = stateOf(started, known.size, end.failures, isWhole || isFull)
      // A list comes as one thing, whatever is on it.
      const isList = started.kind === 'list_import' && state === 'finished'
      const done = isList ? (started.expected ?? known.size) : known.size
      return { ...{ state, done, expected, truncated, spent }, error }
    },
    order: () =>
      [...places].sort((one, other) => one.first - other.first || one.seq - other.seq).map(({ seq }) => seq),
  }
}

function stateOf(
  { kind, expected = 1 }: Started,
  done: number,
  failures: number,
  isWhole: boolean,
): Seen['state'] {
  if (kind !== 'contact_enrichment') return failures > 0 ? 'failed' : isWhole ? 'finished' : 'going'
  if (done + failures < expected) return 'going'
  return failures > 0 ? 'failed' : 'finished'
}

/** Some servers tell of a contact before its result is there. */
const isAnswer = ({ record }: Found): boolean =>
  record.status !== 'pending' || record.enrichment_id === undefined

/** Those without an ordinal keep the order of arrival, behind those with one. */
const firstOf = (found: readonly Found[]): number =>
  found.reduce(
    (least, { ordinal }) => Math.min(least, ordinal ?? Number.MAX_SAFE_INTEGER),
    Number.MAX_SAFE_INTEGER,
  )
