import { isOk, type Reply } from '../api/calls/caller.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { areaOf, type Operation } from '../api/operations/table.js'
import { parseExact, toJson } from '../api/values/json.js'
import { type Fields, isObject, resultOr } from '../api/values/objects.js'
import { isInline, keysOf } from './identifiers.js'

/** Returns those of some keys that are suppressed. */
export type FindSuppressed = (keys: Iterable<string>) => Promise<ReadonlySet<string>>

/** The areas whose replies hold people or companies. In others an address is that of a member. */
const areas: ReadonlySet<string> = new Set(['accounts', 'leads', 'contacts', 'intents', 'searches', 'lists'])

/** Whether requests and replies of an operation hold people or companies. */
export const isPersonal = (operation: Operation): boolean =>
  areas.has(areaOf(operation.id)) || operation.id === 'messenger.validate'

/** Returns the answer to a request about a suppressed person or company: nothing was found. */
export const notFound = (operation: Operation): Reply =>
  toRefusal(new ApiError(isAboutPeople(operation) ? 'no_person_found' : 'no_company_found'), operation)

const isAboutPeople = ({ id }: Operation): boolean =>
  areaOf(id) === 'contacts' || id === 'leads.enrich' || id === 'leads.bulk_enrich'

/** Returns a reply without suppressed people and companies; the same one where there are none. */
export async function replyWithout(find: FindSuppressed, operation: Operation, reply: Reply): Promise<Reply> {
  if (!isOk(reply) || !areas.has(areaOf(operation.id))) return reply
  // A large body that is passed on byte for byte was read in part only.
  const body = reply.wire
    ? resultOr(reply.body, () => parseExact(Buffer.from(reply.wire ?? []).toString()))
    : reply.body
  const rest = await withoutRecords(find, body)
  if (rest === body) return reply
  const { text: _, wire: __, ...others } = reply
  const { credits } = reply
  return rest === undefined ? { ...notFound(operation), credits } : { ...others, body: rest }
}

/** Returns the body of a delivery without suppressed people and companies; `undefined` where nothing is left of it. */
export async function deliveryWithout(find: FindSuppressed, body: string): Promise<string | undefined> {
  const value = resultOr(body as unknown, () => parseExact(body))
  const rest = await withoutRecords(find, value)
  if (rest === value) return body
  return rest === undefined ? undefined : toJson(rest)
}

/**
 * Returns JSON without the records that are about somebody suppressed: they are taken out of lists, and null where a list
 * answers a list. `undefined` where all of it is about them, and the same value where nothing is.
 */
export async function withoutRecords(find: FindSuppressed, body: unknown): Promise<unknown> {
  if (!isObject(body) && !Array.isArray(body)) return body
  const keys = new Set<string>()
  visit(body, [], (own) => {
    for (const key of own) keys.add(key)
    return false
  })
  const suppressed = await find(keys)
  if (suppressed.size === 0) return body
  return visit(body, [], (own) => [...own].some((key) => suppressed.has(key)))
}

type Judge = (keys: ReadonlySet<string>) => boolean

/** Returns a value without the records that are judged to be suppressed. */
function visit(value: unknown, around: Iterable<string>, judge: Judge): unknown {
  if (Array.isArray(value)) return visitList('', value, around, judge)
  if (!isObject(value)) return value
  const { keys, domains } = keysOf(value, around)
  if (judge(keys)) return isContact(value) ? toBlankContact(value) : undefined
  return visitLists(value, domains, judge)
}

/** Looks into the lists of a record that stays. */
function visitLists(value: Fields, around: Iterable<string>, judge: Judge): Fields {
  const entries = Object.entries(value).map(([field, held]): [string, unknown] => {
    if (field === 'custom') return [field, held]
    if (Array.isArray(held)) return [field, isInline(field) ? held : visitList(field, held, around, judge)]
    return [field, isObject(held) ? visitLists(held, around, judge) : held]
  })
  return Object.fromEntries(entries)
}

function visitList(
  field: string,
  list: readonly unknown[],
  around: Iterable<string>,
  judge: Judge,
): unknown[] {
  const rest = list.map((item) => visit(item, around, judge))
  // The results of a bulk request stand in the order of its items.
  if (field === 'results') return rest.map((item) => item ?? null)
  return rest.filter((item, at) => item !== undefined || list[at] === undefined)
}

const isContact = (value: Fields): boolean => 'enrichment_id' in value && 'status' in value

/** What a contact keeps of its result. */
const kept = new Set(['event', 'id', 'created_at', 'enrichment_id', 'status', 'credits_used', 'custom'])

/** Returns the result of a waterfall that found nothing. */
const toBlankContact = (contact: Fields): Fields => ({
  ...Object.fromEntries(
    Object.entries(contact).map(([field, value]) => [
      field,
      kept.has(field) ? value : Array.isArray(value) ? [] : null,
    ]),
  ),
  message: 'No data found',
})
