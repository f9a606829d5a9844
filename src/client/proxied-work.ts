import { type FinishedWork, isOk, type Layer, type Reply, type WorkHold } from '../api/calls/caller.js'
import type { WireNames } from '../api/calls/wire-names.js'
import { isPriced } from '../api/operations/facts.js'
import { type Operation, type OperationId, operation, operations } from '../api/operations/table.js'
import { failedSearchStatuses } from '../api/schemas/enumerations.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { type EventKind, eventOf } from '../api/webhooks/events.js'
import {
  type Carried,
  creditsOfRecord,
  type DeliveredRecord,
  foundIn,
  parseDelivery,
  recordKey,
} from './parse-delivery.js'

/** What a record cost, by a name that is the same wherever it passes. */
interface ProxiedRecord {
  readonly record: string
  readonly credits: number
}

export interface ProxiedWorkLedger {
  /** Records which operation started work that the server accepted, and the email of the member who asked for it. */
  start(ids: readonly string[], operation: OperationId, member: string | undefined): Promise<void>
  /** Records what accepted work counts at. */
  hold(holds: readonly (WorkHold & { readonly id: string })[]): Promise<void>
  /** Has work count at its cost, once however often its last result passes. */
  finish(operation: OperationId, works: readonly FinishedWork[]): Promise<void>
  /** Returns the operation that started the first known one of these; `undefined` when none is known. */
  operationOf(ids: readonly string[]): Promise<string | undefined>
  /** Records what records of work cost, each of them once; the work is the first known one of `ids`. */
  count(operation: OperationId, ids: readonly string[], records: readonly ProxiedRecord[]): Promise<void>
}

interface ProxiedDelivery {
  readonly event: string
  readonly body: string
  readonly search: string | null
  readonly path: string
}

/** Records what work behind a proxy costs, as its results pass in deliveries and replies. */
export type ProxiedWork = ReturnType<typeof createProxiedWork>

/** `names` are the server's words in field names. A reply or delivery that cannot be recorded is passed on all the same. */
export function createProxiedWork(
  ledger: ProxiedWorkLedger,
  onError: (error: unknown) => Promise<void> | void,
  names: WireNames | undefined,
) {
  const attempt = (work: () => Promise<void>) => work().catch(onError)
  const record = async (id: OperationId, { ids, records, finished }: PassedResults) => {
    const paid = records.filter(({ credits }) => credits > 0)
    if (paid.length > 0) await ledger.count(id, ids, paid)
    if (finished.length > 0) await ledger.finish(id, finished)
  }
  const recordReply = async (row: Operation, reply: Reply, requestedId: unknown, member?: string) => {
    if (row.starts && isPriced(row)) {
      const ids = workIds(reply.body as Fields)
      if (ids.length > 0) await ledger.start(ids, row.id, member)
    } else if (row.id === 'searches.get') {
      const { search } = reply.body as { search?: { id?: unknown } }
      const ids = [search?.id, requestedId].filter((id) => typeof id === 'string')
      const started = await ledger.operationOf(ids)
      const paid = operations().find(({ id }) => id === started)
      const kind = paid && eventOf(paid.id)
      if (!paid || !kind) return
      const name = String(ids[0])
      const records = toRecords(paid, kind, foundIn(kind, reply.body), name)
      await record(paid.id, { ids, records, finished: finishedSearch(paid, kind, name, reply.body) })
    } else if (row.id === 'contacts.get' || row.id === 'contacts.get_enrichment') {
      for (const result of finishedContacts(reply.body as Fields)) {
        const ids = [result.enrichment_id, requestedId].filter((id) => typeof id === 'string')
        const started = await ledger.operationOf(ids)
        const records = [toContactRecord(result)]
        if (started !== undefined)
          await record(started as OperationId, { ids, records, finished: finishedContact(result) })
      }
    }
  }
  /** Records the work that the server accepts, and the cost of the results in its replies. */
  const layer: Layer = (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const reply = await caller.call(id, input, call)
      if (isOk(reply)) await attempt(() => recordReply(operation(id), reply, input.id, call?.member?.email))
      return reply
    },
  })
  return {
    layer,
    /** Records what the work in a reply counts at; the contacts of a bulk enrichment have equal shares. */
    hold: (reply: Reply, { credits, ...of }: WorkHold): Promise<void> =>
      attempt(async () => {
        const body = reply.body as Fields
        const contacts = Array.isArray(body.contacts) ? body.contacts.length : 0
        const ids = [...new Set(contacts > 0 ? workIds(body).slice(-contacts) : workIds(body))]
        await ledger.hold(ids.map((id) => ({ ...of, id, credits: Math.floor(credits / ids.length) })))
      }),
    /** Records the cost of what a delivery carries of the work that an operation started. */
    recordDelivery: (started: string | undefined, delivery: ProxiedDelivery): Promise<void> =>
      attempt(async () => {
        const row = operations().find(({ id }) => id === started)
        if (!row || !isPriced(row)) return
        await record(row.id, passedResults({ operation: row.id, delivery, names }))
      }),
  }
}

/** Returns the ids of the work in a reply; for a bulk enrichment also those of its contacts. */
function workIds(body: Fields): readonly string[] {
  const ids = [body.id, body.enrichment_id, ...toList(body.contacts).map(({ enrichment_id: id }) => id)]
  return ids.filter((id) => typeof id === 'string')
}

/** Returns the finished contacts in a reply: one, or all of a bulk enrichment. */
const finishedContacts = (body: Fields): readonly Fields[] =>
  (Array.isArray(body.contacts) ? toList(body.contacts) : [body]).filter(
    ({ status, enrichment_id: id }) => status === 'finished' && typeof id === 'string',
  )

const toContactRecord = (result: Fields): ProxiedRecord => ({
  record: `contact ${result.enrichment_id}`,
  credits: creditsOfRecord(operation('contacts.enrich'), 'contact_enrichment', result),
})

/** Returns the search in a reply if it has ended and the reply says how many records it found. */
function finishedSearch(row: Operation, kind: EventKind, id: string, body: unknown): readonly FinishedWork[] {
  const { search, pagination } = body as { readonly search?: Fields; readonly pagination?: Fields }
  const found = search?.accounts_count ?? search?.leads_count ?? pagination?.total_count
  const isOver = search?.status === 'FINISHED' || failedSearchStatuses.includes(search?.status)
  if (!isOver || typeof found !== 'number') return []
  const price = creditsOfRecord(row, kind, {})
  return [{ id, credits: found * price, price }]
}

const finishedContact = (result: Fields): readonly FinishedWork[] => [
  { id: String(result.enrichment_id), credits: toContactRecord(result).credits, price: 0 },
]

/** Results of work that passed, and the work that ended with them. */
interface PassedResults {
  /** Names of the work; one of them is known. */
  readonly ids: readonly string[]
  readonly records: readonly ProxiedRecord[]
  readonly finished: readonly FinishedWork[]
}

interface RecordsTask {
  readonly operation: OperationId
  readonly delivery: ProxiedDelivery
  readonly names: WireNames | undefined
}

export function passedResults({ operation: id, delivery, names }: RecordsTask): PassedResults {
  const row = operation(id)
  const kind = eventOf(row.id)
  if (kind === undefined) return { ids: [], records: [], finished: [] }
  const { search, path } = delivery
  const carried = parseDelivery(kind, delivery, names)
  const records = toRecords(row, kind, carried.found, search ?? path)
  const [result] = carried.found
  if (kind === 'contact_enrichment' && typeof result?.record.enrichment_id === 'string') {
    const finished = result.record.status === 'pending' ? [] : finishedContact(result.record)
    return { ids: [result.record.enrichment_id, ...(search === null ? [] : [search])], records, finished }
  }
  const ids = search === null ? [] : [search]
  return { ids, records, finished: ids.flatMap((id) => finishedBy(row, kind, id, carried)) }
}

/** Returns work if a delivery ends it and says what it cost: a total, or all records in one part. */
function finishedBy(row: Operation, kind: EventKind, id: string, carried: Carried): readonly FinishedWork[] {
  const { phase, total, found, parts } = carried
  const price = creditsOfRecord(row, kind, {})
  const isWhole = phase === 'completed' && parts === 1 && found.length > 0
  // A contact whose enrichment failed costs nothing.
  const isFree = phase === 'failed' && kind === 'contact_enrichment'
  if (phase === 'record' || (total === undefined && !isWhole && !isFree)) return []
  return [{ id, credits: (total ?? found.length) * price, price }]
}

/** Returns the cost of records; those of a search have the same names in a delivery and in a reply. */
const toRecords = (row: Operation, kind: EventKind, found: readonly DeliveredRecord[], search: string) =>
  found.map((one) =>
    kind === 'contact_enrichment' && typeof one.record.enrichment_id === 'string'
      ? toContactRecord(one.record)
      : { record: `${search} ${recordKey(one)}`, credits: creditsOfRecord(row, kind, one.record) },
  )

const toList = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])
