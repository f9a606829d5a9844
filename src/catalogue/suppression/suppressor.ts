import {
  type Caller,
  type CallOptions,
  type Input,
  isOk,
  type Layer,
  type Reply,
} from '../../api/calls/caller.js'
import { ApiError, toRefusal } from '../../api/calls/errors.js'
import { callItems } from '../../api/calls/items.js'
import { startsSeveral } from '../../api/operations/facts.js'
import {
  areaOf,
  hiddenNote,
  notFoundCode,
  type Operation,
  type OperationId,
  operation,
  resolvesNothing,
} from '../../api/operations/table.js'
import type { Contact, Source, Vendors } from '../../api/ports/ports.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { type Fields, isObject, pickFields, resultOr } from '../../api/values/objects.js'
import {
  keysOfMentions,
  mentionedKeys,
  mentionsIn,
  type RecordJudge,
  withoutRecords as withoutTheirs,
} from '../../identity/mentions.js'
import type { Driver } from '../../storage/driver/connection.js'
import {
  areAskedAbout,
  areSuppressed,
  guardedVendors,
  previewWithout,
  suppressing,
  toFields,
} from './source.js'
import { type FindSuppressed, suppressionsOf } from './suppressions.js'

/** Keeps whom an owner suppresses out of what is asked for, and out of what is written. */
export type Suppressor = ReturnType<typeof createSuppressor>

/** Creates the suppressor of a workspace or of this machine. `findContact` returns who a waterfall was asked for. */
export function createSuppressor(driver: Driver, owner: string, findContact?: FindContact) {
  const { find } = suppressionsOf(driver, owner)
  const records = (value: unknown) => withoutRecords(find, value, findContact)
  const delivery = async (body: string) => {
    const value = resultOr(body as unknown, () => parseExact(body))
    const rest = await records(value)
    if (rest === value) return body
    return rest === undefined ? undefined : toJson(rest)
  }
  return {
    find,
    source: (source: Source) => suppressing(source, find),
    request: (operation: Operation, input: Input) => requestWithout(find, operation, input),
    /** `source` says who is meant. */
    vendors: (vendors: Vendors, source: Source) => guardedVendors(vendors, source, find),
    /** Returns a reply without suppressed people and companies. `source` says who is in a stored preview. */
    reply: async (operation: Operation, reply: Reply, source?: Source): Promise<Reply> => {
      if (!isOk(reply) || !areas.has(areaOf(operation.id))) return reply
      const all = bodyOf(reply)
      const isReplayed = source && reply.headers['idempotent-replayed'] && isObject(all)
      const body =
        isReplayed && Array.isArray(all.preview)
          ? { ...all, preview: await previewWithout(find, all.preview as readonly Fields[], source) }
          : all
      const rest = await records(body)
      if (rest === all) return reply
      const { credits, replayed } = reply
      if (rest === undefined)
        return {
          ...notFound(operation),
          credits,
          ...(replayed === undefined ? {} : { replayed }),
          isSuppressed: true,
        }
      const row = isObject(all) && isContact(all) ? waterfall : operation
      const isHidden = resolvesNothing(row, rest) && !resolvesNothing(row, all)
      const hiddenItems = hiddenIn(all, rest)
      return {
        ...withoutBytes(reply),
        body: rest,
        ...(isHidden && { isSuppressed: true }),
        ...(hiddenItems.length > 0 && { hiddenItems }),
      }
    },
    /** Returns the body of a delivery without them; `undefined` where nothing is left of it. */
    delivery,
    /** Of a delivery that was received, what says that there was one is left. */
    received: async (body: string) => (await delivery(body)) ?? envelopeOf(body),
    /** Returns which of some records are about somebody suppressed. */
    areAbout: (records: readonly unknown[]) => areSuppressed(find, records),
    /** Returns which of some requests are. `source` says who is meant; without one, their own words do. */
    areAskedAbout: async (requests: readonly Fields[], source?: Source): Promise<readonly boolean[]> =>
      source ? areAskedAbout(find, requests, source) : areSuppressed(find, requests),
    /** Of one record `undefined` where it is about somebody suppressed. */
    records,
  }
}

/** Returns the positions of the results of a request for several that are hidden. */
function hiddenIn(all: unknown, rest: unknown): readonly number[] {
  const [before, after] = [all, rest].map((one) => (isObject(one) ? one.results : undefined))
  if (!Array.isArray(before) || !Array.isArray(after)) return []
  return after.flatMap((one, at) => (one === null && before[at] !== null ? [at] : []))
}

/** The operation whose replies are results of contacts. */
const waterfall = operation('contacts.enrich_sync')

/** The areas whose replies hold people or companies. In others an address is that of a member. */
const areas: ReadonlySet<string> = new Set(['accounts', 'leads', 'contacts', 'intents', 'searches', 'lists'])

/** Whether requests and replies of an operation hold people or companies. */
const isPersonal = (operation: Operation): boolean =>
  areas.has(areaOf(operation.id)) || operation.id === 'messenger.validate'

/** Returns the answer to a request about a suppressed person or company: nothing was found. */
const notFound = (operation: Operation): Reply => toRefusal(new ApiError(notFoundCode(operation)), operation)

/** Returns what says which delivery a body is, and nothing of its record. */
function envelopeOf(body: string): string {
  const value = parseExact(body)
  const fields = isObject(value) ? value : {}
  const names = ['event', 'id', 'created_at', 'ordinal'].filter((name) => name in fields)
  return toJson(pickFields(fields, names))
}

/** Returns who was asked for by the id of the result; `undefined` where it is not known. */
type FindContact = (enrichmentId: string) => Promise<Contact | undefined>

/**
 * Returns JSON without the records that are about somebody suppressed: they are taken out of lists, and null where a
 * list answers a list. `undefined` where all of it is about them, and the same value where nothing is. Every record
 * passes this on its way out (decision 19).
 */
export async function withoutRecords(
  find: FindSuppressed,
  body: unknown,
  findContact?: FindContact,
): Promise<unknown> {
  if (!isObject(body) && !Array.isArray(body)) return body
  const keys = new Set<string>()
  const contacts: Fields[] = []
  const read: RecordJudge = (mentions, record, around) => {
    for (const key of keysOfMentions(mentions, around)) keys.add(key)
    if (record.status === 'finished' && isContact(record)) contacts.push(record)
    return false
  }
  withoutTheirs(body, { goes: read })
  // The result of a contact does not say at which company it was asked for.
  const requested = new Map<unknown, ReadonlySet<string>>()
  for (const { enrichment_id: id } of findContact ? contacts : []) {
    const own = mentionedKeys(toFields((await findContact?.(String(id))) ?? {}))
    requested.set(id, own)
    for (const key of own) keys.add(key)
  }
  const suppressed = await find(keys)
  if (suppressed.size === 0) return body
  return withoutTheirs(body, {
    goes: (mentions, { enrichment_id: id }, around) =>
      [...keysOfMentions(mentions, around), ...(requested.get(id) ?? [])].some((key) => suppressed.has(key)),
    blank: (record) => (isContact(record) ? toBlankContact(record) : undefined),
  })
}

/** The fields of requests that hold people or companies, one an item. */
const itemFields = ['accounts', 'companies', 'contacts', 'leads', 'phone_numbers'] as const

/** What is left of a request, or the answer to one of which nothing is. */
type RequestLeft =
  | { readonly reply: Reply }
  | {
      readonly input: Input
      /** Returns the reply to the whole request. */
      readonly restore: (reply: Reply) => Reply
    }

/** Takes suppressed people and companies out of a request to a server. */
async function requestWithout(
  find: FindSuppressed,
  operation: Operation,
  input: Input,
): Promise<RequestLeft> {
  const field = itemFields.find((name) => Array.isArray(input[name]))
  const items = field === undefined ? [] : (input[field] as readonly unknown[])
  const lists = Object.keys(input).filter((name) => name !== field && Array.isArray(input[name]))
  const own = mentionsIn(
    Object.fromEntries(Object.entries(input).filter(([name]) => name !== field && !lists.includes(name))),
  )
  const ownKeys = keysOfMentions(own)
  const around = [...own.places, ...own.mailPlaces]
  const keysOfItem = items.map((item) => keysIn(field ?? '', item, around))
  const keysOfLists = lists.map((name) => (input[name] as unknown[]).map((item) => keysIn(name, item)))
  const suppressed = await find([ownKeys, ...keysOfItem, ...keysOfLists.flat()].flatMap((keys) => [...keys]))
  const isLeft = (keys: ReadonlySet<string> | undefined) =>
    ![...(keys ?? [])].some((key) => suppressed.has(key))
  if (suppressed.size === 0) return { input, restore: (reply) => reply }
  if (!isLeft(ownKeys)) return { reply: emptyReply(operation, [input.phone_number]) }
  const left: Record<string, unknown> = { ...input }
  for (const [at, name] of lists.entries()) {
    const all = input[name] as readonly unknown[]
    left[name] = all.filter((_, index) => isLeft(keysOfLists[at]?.[index]))
    // Without what it is looked for at, a search would find everything.
    if ((left[name] as unknown[]).length === 0 && all.length > 0) {
      if (!name.startsWith('excluded')) return { reply: emptyReply(operation, []) }
      delete left[name]
    }
  }
  if (field === undefined) return { input: left, restore: (reply) => reply }
  const kept = items.map((_, at) => isLeft(keysOfItem[at]))
  if (!kept.includes(true)) return { reply: emptyReply(operation, items) }
  left[field] = items.filter((_, at) => kept[at])
  return { input: left, restore: (reply) => withGaps(operation, reply, items, kept) }
}

const keysIn = (field: string, item: unknown, around?: Iterable<string>): ReadonlySet<string> =>
  mentionedKeys(isObject(item) ? item : { [field]: [item] }, around)

/** Returns the answer to a request whose items are all suppressed. */
function emptyReply(operation: Operation, items: readonly unknown[]): Reply {
  const gap = gaps[operation.id]
  if (!gap || startsSeveral(operation)) return notFound(operation)
  return { status: operation.ok, body: { results: items.map(gap) }, headers: {}, credits: 0 }
}

/** What stands for a suppressed item in the reply to a request with several. */
const gaps: Readonly<Partial<Record<OperationId, (item: unknown) => unknown>>> = {
  'accounts.bulk_enrich': () => null,
  'leads.bulk_enrich': () => null,
  'contacts.bulk_enrich': (item: unknown) => ({
    enrichment_id: crypto.randomUUID(),
    ...(isObject(item) && item.custom !== undefined ? { custom: item.custom } : {}),
  }),
  'contacts.check_data_availability': () => ({ email: false, phone: false, personal_email: false }),
  'messenger.validate': (phone_number: unknown) => ({
    phone_number,
    reachable: false,
    checked_at: new Date().toISOString(),
  }),
}

/** Returns a reply whose list has a place for each item of the request, also for those that were not sent. */
function withGaps(
  operation: Operation,
  reply: Reply,
  items: readonly unknown[],
  kept: readonly boolean[],
): Reply {
  const gap = gaps[operation.id]
  const name = startsSeveral(operation) ? 'contacts' : 'results'
  const body = bodyOf(reply)
  if (!gap || !isOk(reply) || !isObject(body) || !Array.isArray(body[name])) return reply
  const answers = [...(body[name] as unknown[])]
  if (answers.length !== kept.filter(Boolean).length) return reply
  const list = items.map((item, at) => (kept[at] ? answers.shift() : gap(item)))
  return { ...withoutBytes(reply), body: { ...body, [name]: list } }
}

/** A large body that is passed on byte for byte was read in part only. */
const bodyOf = ({ body, wire }: Reply): unknown =>
  wire ? resultOr(body, () => parseExact(Buffer.from(wire).toString())) : body

function withoutBytes({ text: _, wire: __, ...reply }: Reply): Reply {
  return reply
}

type OpenSuppressor = () => Promise<Suppressor | undefined>

type SuppressedCall = [caller: Caller, row: Operation, input: Input, options: CallOptions | undefined]

/** Returns what makes a layer of what is done with a call about people or companies where an owner suppresses somebody. */
const whereSuppressing =
  (answer: (suppressor: Suppressor, ...call: SuppressedCall) => Promise<Reply>) =>
  (open: OpenSuppressor): Layer =>
  (caller) => ({
    ...caller,
    call: async (id, input, options) => {
      const row = operation(id)
      const suppressor = isPersonal(row) ? await open() : undefined
      return suppressor ? answer(suppressor, caller, row, input, options) : caller.call(id, input, options)
    },
  })

/** Takes whom an owner suppresses out of requests: they are not found, and nothing about them is sent. */
export const notAskedAbout = whereSuppressing(async (suppressor, caller, row, input, options) => {
  const left = await suppressor.request(row, input)
  if ('reply' in left) return left.reply
  if (left.input === input) return caller.call(row.id, input, options)
  return left.restore(await callItems(caller, bodyOf, row.id, left.input, options))
})

/** Takes whom an owner suppresses out of replies. */
export const notPassedOn = whereSuppressing(async (suppressor, caller, row, input, options) =>
  suppressor.reply(row, await caller.call(row.id, input, options)),
)

/** Keeps whom an owner suppresses from a server: nothing about them is sent, and nothing about them is passed on. */
export const keptFrom =
  (open: OpenSuppressor): Layer =>
  (caller) =>
    notAskedAbout(open)(notPassedOn(open)(caller))

const isContact = (value: Fields): boolean => 'enrichment_id' in value && 'status' in value

/** What a contact keeps of its result. */
const kept = new Set(['event', 'id', 'created_at', 'enrichment_id', 'status', 'credits_used', 'custom'])

/** Returns the result of a waterfall that shows nothing, and says why. */
function toBlankContact(contact: Fields): Fields {
  const blank: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(contact))
    blank[field] = kept.has(field) ? value : Array.isArray(value) ? [] : null
  return { ...blank, message: hiddenNote }
}
