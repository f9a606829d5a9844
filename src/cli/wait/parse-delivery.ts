import { renameIn, type WireNames } from '../../api/calls/wire-names.js'
import { parseBody } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import type { EventKind } from '../../api/webhooks/events.js'
import type { Arrived } from '../../storage/state/webhook-inbox.js'
import type { Row } from '../output/records.js'

/** A record in a delivery, with its place in the order found where the sender gives one. */
export interface Found {
  readonly ordinal: number | undefined
  readonly record: Row
}

/** What a delivery carries. */
export interface Carried {
  readonly phase: 'record' | 'completed' | 'failed'
  readonly found: readonly Found[]
  /** Which part of how many it is, of a completion too large for one delivery. */
  readonly part: number
  readonly parts: number
  /** Records in all, as an engine like ours says; others may mean something else by it. */
  readonly total: number | undefined
  readonly truncated: boolean
  readonly error: string | undefined
}

/** What a delivery that arrived carries; `names` are its sender's words in the names of fields. */
export function parseDelivery(
  kind: EventKind,
  { event, body }: Pick<Arrived, 'event' | 'body'>,
  names: WireNames | undefined,
): Carried {
  const value = parseBody(body)
  return carriedBy(kind, event, names ? renameIn(value, names) : value)
}

/**
 * Reads a delivery, whoever sent it: an event of an engine like ours, or a body without a name, which is a record or,
 * where it holds several, the completion.
 */
export function carriedBy(kind: EventKind, event: string, body: unknown): Carried {
  const fields = isObject(body) ? body : {}
  const phase = phaseOf(kind, event, body)
  const isOurs = event.startsWith(`${kind}.`)
  return {
    phase,
    found: phase === 'failed' ? [] : itemsOf(kind, phase, body).map((item) => foundIn(kind, item)),
    part: wholeIn(fields.part) ?? 1,
    parts: wholeIn(fields.parts) ?? 1,
    total: isOurs ? wholeIn(fields.total) : undefined,
    truncated: fields.truncated === true,
    error: phase === 'failed' ? textIn(fields.error) : undefined,
  }
}

function phaseOf(kind: EventKind, event: string, body: unknown): Carried['phase'] {
  const last = event.split('.').at(-1)
  if (last === 'failed') return 'failed'
  if (kind === 'contact_enrichment') return 'record'
  if (kind === 'list_import') return statusOf(body) === 'failed' ? 'failed' : 'completed'
  if (last === 'record' || last === 'completed') return last
  return several(body) ? 'completed' : 'record'
}

const statusOf = (body: unknown): unknown =>
  isObject(body) && isObject(body.list) ? body.list.status : undefined

/** The list in a body; nothing where it has none. */
function several(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body
  if (!isObject(body)) return undefined
  return [body.leads, body.accounts].find((value): value is unknown[] => Array.isArray(value))
}

function itemsOf(kind: EventKind, phase: Carried['phase'], body: unknown): readonly Row[] {
  if (kind === 'list_import') return isObject(body) ? [isObject(body.list) ? body.list : body] : []
  if (phase === 'record' && isObject(body)) return [withoutEnvelope(body)]
  return (several(body) ?? []).filter(isObject)
}

/** What an event has beside what it tells of; a body that is no event has fields of its own by these names. */
function withoutEnvelope(body: Row): Row {
  if (typeof body.event !== 'string') return body
  const { event: _, id, created_at, custom, ...rest } = body
  // The result of a contact has its own values in it.
  return rest.enrichment_id !== undefined && custom !== undefined ? { ...rest, custom } : rest
}

function foundIn(kind: EventKind, { ordinal, ...item }: Row): Found {
  return { ordinal: wholeIn(ordinal), record: recordOf(kind, item) }
}

/** A record as the same command prints it on every target. */
function recordOf(kind: EventKind, item: Row): Row {
  if (kind === 'contact_enrichment' || kind === 'list_import') return item
  if (kind === 'lead_search')
    return isObject(item.lead)
      ? { lead: item.lead, company: item.company ?? null }
      : { lead: item, company: null }
  const { account, ...more } = item
  return isObject(account) ? { ...account, ...more } : item
}

const wholeIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
