import { isOk, type Reply } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import type { WireNames } from '../api/calls/wire-names.js'
import { isPriced } from '../api/operations/facts.js'
import { type Operation, type OperationId, operation, operations } from '../api/operations/table.js'
import { type Bytes, small, viewOf } from '../api/values/bytes.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { type EventKind, eventOf } from '../api/webhooks/events.js'
import { creditsOfRecord, type DeliveredRecord, foundIn, parseDelivery, recordKey } from './parse-delivery.js'

/** What a record cost, by a name that is the same wherever it passes. */
export interface ProxiedRecord {
  readonly record: string
  readonly credits: number
}

/** Where proxied work is put on record. */
export interface ProxiedWorkLedger {
  /** Records which operation started work that the server accepted. */
  start(ids: readonly string[], operation: OperationId): Promise<void>
  /** Returns the operation that started the first known one of these; `undefined` when none is known. */
  operationOf(ids: readonly string[]): Promise<string | undefined>
  /** Records what records cost, each of them once. */
  count(operation: OperationId, records: readonly ProxiedRecord[]): Promise<void>
  /** Called when something could not be recorded. The reply or delivery is passed on all the same. */
  onError(error: unknown): void
}

/** A delivery of a server that the proxy forwards. */
interface ProxiedDelivery {
  readonly event: string
  readonly body: string
  readonly search: string | null
  readonly path: string
}

/** Records what work behind a proxy costs, as its results pass in deliveries and replies. */
export type ProxiedWork = ReturnType<typeof createProxiedWork>

/** Creates what records proxied work; `names` are the server's words in field names. */
export function createProxiedWork(
  ledger: ProxiedWorkLedger,
  names: WireNames | undefined,
  parse: (task: RecordsTask, owner: string) => Promise<readonly Bytes[]>,
) {
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => ledger.onError(error))
  const count = async (id: OperationId, records: readonly ProxiedRecord[]) => {
    const paid = records.filter(({ credits }) => credits > 0)
    if (paid.length > 0) await ledger.count(id, paid)
  }
  const recordReply = async (row: Operation, reply: Reply, requestedId: unknown) => {
    if (row.starts && isPriced(row)) {
      const ids = workIds(reply.body)
      if (ids.length > 0) await ledger.start(ids, row.id)
    } else if (row.id === 'searches.get') {
      const { search } = reply.body as { search?: { id?: unknown } }
      const ids = [search?.id, requestedId].filter((id) => typeof id === 'string')
      const started = await ledger.operationOf(ids)
      const paid = operations().find(({ id }) => id === started)
      const kind = paid && eventOf(paid.id)
      if (paid && kind) await count(paid.id, toRecords(paid, kind, foundIn(kind, reply.body), String(ids[0])))
    } else if (hasResults(row)) {
      for (const result of finishedContacts(reply.body)) {
        const ids = [result.enrichment_id, requestedId].filter((id) => typeof id === 'string')
        const started = await ledger.operationOf(ids)
        if (started !== undefined) await count(started as OperationId, [toContactRecord(result)])
      }
    }
  }
  /** Records the work that the server accepts, and the cost of the results in its replies. */
  const layer: Layer = (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const reply = await caller.call(id, input, call)
      if (isOk(reply)) await attempt(() => recordReply(operation(id), reply, input.id))
      return reply
    },
  })
  return {
    layer,
    /** Records the cost of what a delivery carries of the work that an operation started. */
    recordDelivery: (started: string | undefined, delivery: ProxiedDelivery): Promise<void> =>
      attempt(async () => {
        const row = operations().find(({ id }) => id === started)
        if (!row || !isPriced(row)) return
        const task: RecordsTask = { kind: 'records', operation: row.id, delivery, names }
        const parts = delivery.body.length > small.bytes ? await parse(task, '') : packRecords(task)
        for (const part of parts) await count(row.id, JSON.parse(viewOf(part).toString()) as ProxiedRecord[])
      }),
  }
}

/** Returns the ids of the work in a reply; for a bulk enrichment also those of its contacts. */
function workIds(body: unknown): readonly string[] {
  if (!isObject(body)) return []
  const ids = [body.id, body.enrichment_id, ...toList(body.contacts).map(({ enrichment_id: id }) => id)]
  return ids.filter((id) => typeof id === 'string')
}

const hasResults = ({ id }: Operation): boolean => id === 'contacts.get' || id === 'contacts.get_enrichment'

/** Returns the finished contacts in a reply: one, or all of a bulk enrichment. */
const finishedContacts = (body: unknown): readonly Fields[] =>
  (isObject(body) && Array.isArray(body.contacts) ? toList(body.contacts) : toList([body])).filter(
    ({ status, enrichment_id: id }) => status === 'finished' && typeof id === 'string',
  )

const toContactRecord = (result: Fields): ProxiedRecord => ({
  record: `contact ${result.enrichment_id}`,
  credits: creditsOfRecord(operation('contacts.enrich'), 'contact_enrichment', result),
})

/** A delivery whose records are to be read. */
export interface RecordsTask {
  readonly kind: 'records'
  readonly operation: OperationId
  readonly delivery: ProxiedDelivery
  readonly names: WireNames | undefined
}

const recordsPerPart = 500

/** Returns the records of a delivery with their costs as JSON, in lists of some records each. */
export function packRecords({ operation: id, delivery, names }: RecordsTask): readonly Bytes[] {
  const records = recordsIn(operation(id), delivery, names)
  return Array.from({ length: Math.ceil(records.length / recordsPerPart) }, (_, at) =>
    new TextEncoder().encode(JSON.stringify(records.slice(at * recordsPerPart, (at + 1) * recordsPerPart))),
  )
}

function recordsIn(row: Operation, delivery: ProxiedDelivery, names: WireNames | undefined): ProxiedRecord[] {
  const kind = eventOf(row.id)
  if (kind === undefined) return []
  const { found } = parseDelivery(kind, delivery, names)
  return toRecords(row, kind, found, delivery.search ?? delivery.path)
}

/** Returns the cost of records; those of a search have the same names in a delivery and in a reply. */
const toRecords = (
  row: Operation,
  kind: EventKind,
  found: readonly DeliveredRecord[],
  search: string,
): ProxiedRecord[] =>
  found.map((one) =>
    kind === 'contact_enrichment' && typeof one.record.enrichment_id === 'string'
      ? toContactRecord(one.record)
      : { record: `${search} ${recordKey(one)}`, credits: creditsOfRecord(row, kind, one.record) },
  )

const toList = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])
