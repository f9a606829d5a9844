import { createHash } from 'node:crypto'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { creditsCharged, type Operation, operation } from '../api/operations/table.js'
import { parseBody, toJson } from '../api/values/json.js'
import { type Fields, isObject, valueAt } from '../api/values/objects.js'
import type { EventKind } from '../api/webhooks/events.js'
import { readForeignWords, withPhone } from './reply.js'

export interface DeliveredRecord {
  /** Its place in the order found; `undefined` when the sender does not say. */
  readonly ordinal: number | undefined
  readonly record: Fields
}

export interface Carried {
  readonly phase: 'record' | 'completed' | 'failed'
  readonly found: readonly DeliveredRecord[]
  /** The number of this part. A completion that is too large comes in several. */
  readonly part: number
  readonly parts: number
  /** Total of records. Read from our own engine only: others may mean something else by it. */
  readonly total: number | undefined
  readonly truncated: boolean
  readonly error: string | undefined
}

/**
 * Returns what a delivery carries. It may be an event of our engine, or a body without an event name: one record, or the
 * completion when it holds several. `names` are the sender's words in field names.
 */
export function parseDelivery(
  kind: EventKind,
  { event, body: text }: { readonly event: string; readonly body: string },
  names: WireNames | undefined,
): Carried {
  const value = parseBody(text)
  const body = names ? renameIn(value, names) : value
  readForeignWords(body)
  const fields = isObject(body) ? body : {}
  const phase = phaseOf(kind, event, body)
  const isOurs = event.startsWith(`${kind}.`)
  return {
    phase,
    found: phase === 'failed' ? [] : itemsOf(kind, phase, body).map((item) => toFound(kind, item)),
    part: toWhole(fields.part) ?? 1,
    parts: toWhole(fields.parts) ?? 1,
    total: isOurs ? toWhole(fields.total) : undefined,
    truncated: fields.truncated === true,
    error: phase === 'failed' && typeof fields.error === 'string' ? fields.error : undefined,
  }
}

/** Returns the records in the body of a search: leads, or companies. */
export const foundIn = (kind: EventKind, body: unknown): readonly DeliveredRecord[] =>
  itemsOf(kind, 'completed', body).map((item) => toFound(kind, item))

/** Returns what identifies a record: its ordinal, the contact it belongs to, otherwise its content. */
export function recordKey({ ordinal, record }: DeliveredRecord): string {
  if (ordinal !== undefined) return `#${ordinal}`
  if (typeof record.enrichment_id === 'string') return record.enrichment_id
  return createHash('sha256').update(toJson(record)).digest('base64')
}

/** Returns the credits of a record of accepted work: what the server says, otherwise the price of its content. */
export function creditsOfRecord(row: Operation, kind: EventKind, record: Fields): number {
  if (kind === 'contact_enrichment') return creditsCharged(operation('contacts.enrich_sync'), record)
  return row.price.company ?? 0
}

function phaseOf(kind: EventKind, event: string, body: unknown): Carried['phase'] {
  const last = event.split('.').at(-1)
  if (last === 'failed') return 'failed'
  if (kind === 'contact_enrichment') return 'record'
  if (kind === 'list_import') return valueAt(body, ['list', 'status']) === 'failed' ? 'failed' : 'completed'
  if (last === 'record' || last === 'completed') return last
  return listIn(body) ? 'completed' : 'record'
}

/** Returns the list in a body; `undefined` when it has none. */
function listIn(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body
  if (!isObject(body)) return undefined
  return [body.leads, body.accounts].find((value): value is unknown[] => Array.isArray(value))
}

function itemsOf(kind: EventKind, phase: Carried['phase'], body: unknown): readonly Fields[] {
  if (kind === 'list_import') return isObject(body) ? [isObject(body.list) ? body.list : body] : []
  if (phase === 'record' && isObject(body)) return [withoutEnvelope(body)]
  return (listIn(body) ?? []).filter(isObject)
}

/** Removes the fields that an event has beside its record. In a body that is no event, they belong to the record. */
function withoutEnvelope(body: Fields): Fields {
  if (typeof body.event !== 'string') return body
  const { event: _, id, created_at, custom, ...rest } = body
  // The result of a contact has its own values in it.
  return rest.enrichment_id !== undefined && custom !== undefined ? { ...rest, custom } : rest
}

function toFound(kind: EventKind, { ordinal, ...item }: Fields): DeliveredRecord {
  return { ordinal: toWhole(ordinal), record: recordOf(kind, item) }
}

/** Returns a record in the form in which a command prints it for every target. */
export function recordOf(kind: EventKind, item: Fields): Fields {
  if (kind === 'contact_enrichment') return withPhone(item)
  if (kind === 'list_import') {
    // The result of an import is not its companies.
    const { companies: _, pagination: __, ...list } = item
    return list
  }
  if (kind === 'lead_search') {
    const { lead, company, ...flat } = item
    if (isObject(lead)) return { lead, company: company ?? null }
    return isObject(company) ? { lead: flat, company } : { lead: item, company: null }
  }
  const { account, account_id, ...more } = item
  if (isObject(account)) return { ...account, ...more }
  return account_id === undefined ? item : { id: account_id, ...more }
}

const toWhole = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
