import { shapeOf } from '../api/areas/shapes.js'
import { isFromStore, type Reply } from '../api/calls/caller.js'
import { ApiError, errorBody, failureOf, statusOfError } from '../api/calls/errors.js'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { isRead, maxLevels } from '../api/operations/facts.js'
import {
  creditsCharged,
  type Operation,
  type OperationId,
  operation as operationOf,
} from '../api/operations/table.js'
import { emailStatusOf, workStateOf } from '../api/schemas/enumerations.js'
import { isErrorInSuccess, misfitOf, strangenessOf } from '../api/validation/fits.js'
import { exceededLimit, parseExact, toJson } from '../api/values/json.js'
import { type Fields, isObject, withoutUndefined } from '../api/values/objects.js'
import type { WireAnswer } from './reading.js'

/** A server's answer to be read. */
export interface ReplyTask {
  readonly operation: OperationId
  readonly answer: WireAnswer
  /** The server's words for `network` and `premium`. */
  readonly names: WireNames | undefined
  readonly apiKey: string | undefined
  /** Whether the body is passed on as it came. */
  readonly isPassedOn: boolean
}

/**
 * Converts a server's answer, which may be anything, to a reply. A success that cannot be used becomes a 502. A refusal
 * that cannot be read keeps its status. Little makes one unusable (decision 17).
 */
export async function readReply({ operation: id, apiKey, ...task }: ReplyTask): Promise<Reply> {
  const operation = operationOf(id)
  const answer = withoutKey(task.answer, apiKey)
  const { status } = answer
  const headers = passedHeaders(answer.headers)
  if (status >= 300 && status < 400)
    return unusable(operation, `with a redirect (${status}), which is not followed`, headers)
  const read = bodyOf(answer)
  // Whoever gets an object as it came decides on it; of anything else nothing would be left to see.
  const isJudged = !task.isPassedOn || 'problem' in read || !isObject(read.value)
  if (status === 404 && isJudged && !isOwnRefusal(read)) {
    const reason = 'with 404, and not as this API does: check the address, and what stands before the server'
    return { ...unusable(operation, reason, headers), unusable: textOf(read) }
  }
  if (status >= 400) return refusal(status, read, headers, task)
  if ('problem' in read) {
    // Some servers answer a deletion without a body.
    const isSilent = operation.method === 'DELETE' && read.bytes.length === 0 && answer.broken === undefined
    if (isSilent) return { status: operation.ok, body: {}, headers, credits: 0 }
    return { ...unusable(operation, read.problem, headers), unusable: textOf(read) }
  }
  const body = readForeignReply(operation.id, task.names ? renameIn(read.value, task.names) : read.value)
  const shape = await shapeOf(operation.id)
  if (!task.isPassedOn && isErrorInSuccess(shape, body)) {
    const meant = statusOfError(body)
    // What failed inside of a server may have been paid for, and a success that says so is not retried as a 500 is.
    if (meant !== undefined && meant < 500)
      return { status: meant, body, headers, credits: 0, ...pickForm(read, task) }
    const text = toShortText(body.error)
    return { ...unusable(operation, `with an error in a success: ${text}`, headers), unusable: textOf(read) }
  }
  const strange = task.isPassedOn ? undefined : strangenessOf(operation, shape, status, body)
  const misfit = misfitOf(operation, shape, body) ?? strange
  if (misfit !== undefined) return { ...unusable(operation, misfit, headers), unusable: textOf(read) }
  // What a proxy has stored was paid for by whom it was stored for; a key brings back what its own request cost.
  const isStored = isFromStore({ headers }) && headers['idempotent-replayed'] !== 'true'
  const credits = isStored ? 0 : creditsCharged(operation, body)
  return { status, body, headers, credits, ...pickForm(read, task) }
}

/** Maximum size of an unusable body that is kept. */
const keptBytes = 8 * 1_048_576

const textOf = ({ bytes }: Read): string => Buffer.from(bytes.subarray(0, keptBytes)).toString().trim()

/** Returns the 502 of an answer that cannot be used. */
export function unusable(operation: Operation, reason: string, headers: Reply['headers']): Reply {
  const body = errorBody(new ApiError('unusable_answer', { reason }), operation)
  const { 'retry-after': wait } = headers
  return { status: 502, body, headers: wait === undefined ? {} : { 'retry-after': wait }, credits: 0 }
}

/** Returns the 502 in place of an answer that is, or may be, the one to another request. */
export function suspectReply(operation: Operation, isOfAnother: boolean): Reply {
  const reason = isOfAnother
    ? 'with the answer to another request'
    : 'more than it was asked, so this answer may be the one to another request'
  const reply = unusable(operation, reason, {})
  if (isRead(operation)) return { ...reply, isSuspect: true }
  return { ...reply, body: { ...(reply.body as Fields), code: 'outcome_unknown' }, isSuspect: true }
}

type Read = ({ readonly value: unknown; readonly text: string } | { readonly problem: string }) & {
  readonly bytes: Uint8Array<ArrayBuffer>
}

function refusal(
  status: number,
  read: Read,
  headers: Reply['headers'],
  task: Pick<ReplyTask, 'names' | 'isPassedOn'>,
): Reply {
  if ('problem' in read || !isObject(read.value)) {
    const body = { error: `Upstream answered ${status} without saying why` }
    return { status, body, headers, credits: 0 }
  }
  const body = task.names ? renameIn(read.value, task.names) : read.value
  // A proxy could not use what came from the server behind it, and has kept that.
  const isUnusable = failureOf(status, body).means === 'unusable_answer'
  return {
    status,
    body,
    headers,
    credits: 0,
    ...(isUnusable ? { unusable: '' } : {}),
    ...pickForm(read, task),
  }
}

/** What the answers of web frameworks and gateways have, which know of no route there. */
const ofFrameworks = ['timestamp', 'path', 'statusCode', 'exception', 'trace', 'instance', 'request_url']

/** Whether a refusal is in the words of this API; a 404 may as well be one of a proxy or of a framework, or a page. */
const isOwnRefusal = (read: Read): boolean =>
  !('problem' in read) &&
  isObject(read.value) &&
  read.value.error !== undefined &&
  !ofFrameworks.some((field) => Object.hasOwn(read.value as Fields, field))

const shortText = 200

const toShortText = (value: unknown): string =>
  (typeof value === 'string' ? value : toJson(value)).slice(0, shortText)

const byteOrderMark = [0xef, 0xbb, 0xbf]

/** Returns a body as it came: to be passed on, or as text in our words. */
function pickForm(
  { text, bytes }: { readonly text: string; readonly bytes: Uint8Array<ArrayBuffer> },
  { names, isPassedOn }: Pick<ReplyTask, 'names' | 'isPassedOn'>,
): Pick<Reply, 'text' | 'wire'> {
  if (!isPassedOn) return names ? {} : { text }
  return { wire: byteOrderMark.every((byte, at) => bytes[at] === byte) ? bytes.subarray(3) : bytes }
}

/** Maximum number of values in an answer, those inside of others included. */
const maxValues = 400_000

function bodyOf({ body: bytes, broken, headers }: WireAnswer): Read {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
  if (broken !== undefined) return { problem: broken, bytes }
  if (encoding !== 'identity')
    return { problem: `with a body in ${encoding}, which was not asked for`, bytes }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const exceeded = exceededLimit(text, { depth: maxLevels, values: maxValues })
    if (exceeded === 'depth') return { problem: `with JSON nested deeper than ${maxLevels} levels`, bytes }
    if (exceeded === 'values')
      return { problem: `with more than ${maxValues.toLocaleString('en')} values`, bytes }
    return { value: parseExact(text), text, bytes }
  } catch {
    return { problem: 'with something that is not JSON', bytes }
  }
}

/** Headers of one connection or of the transferred body, and cookies, which are secrets. */
const dropped: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'content-encoding',
  'content-type',
  'set-cookie',
  'set-cookie2',
  'alt-svc',
  'strict-transport-security',
  'date',
])

/** Returns the headers to pass on, with lower-case names. */
function passedHeaders(headers: WireAnswer['headers']): Record<string, string> {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !dropped.has(name) && !named.includes(name))
      passed[name] = Array.isArray(value) ? value.join(', ') : value
  return passed
}

/** Removes the key from an answer that repeats it, so that it reaches neither a screen nor a client. */
function withoutKey(answer: WireAnswer, key: string | undefined): WireAnswer {
  if (key === undefined || key.length < 8) return answer
  const clean = <T>(value: T): T | string =>
    typeof value === 'string' ? value.replaceAll(key, '[key]') : value
  const headers = Object.entries(answer.headers).map(([name, value]) => [
    name,
    [value].flat().map(clean).join(', '),
  ])
  const view = Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.length)
  const body = view.includes(key)
    ? Buffer.from(view.toString('latin1').replaceAll(key, '[key]'), 'latin1')
    : answer.body
  return { ...answer, headers: Object.fromEntries(headers), body }
}

/** Returns the body of a success in our words: other servers have other names and words for some values. */
function readForeignReply(id: OperationId, body: unknown): unknown {
  readForeignWords(body)
  const listed = lists[id]
  const read = listed !== undefined && Array.isArray(body) ? asListing(listed, body) : body
  return isObject(read) ? (readers[id]?.(read) ?? read) : read
}

/** Where listings have their rows. Some servers answer the rows alone. */
const lists: Partial<Record<OperationId, string>> = {
  'lists.list': 'lists',
  'personas.list': 'personas',
  'searches.list': 'searches',
}

/** Returns a listing from a list of its rows, or of pages with rows. */
function asListing(name: string, items: readonly unknown[]): Fields {
  const pages = items.filter(isObject).filter((item) => Array.isArray(item[name]))
  return pages.length === 0
    ? { [name]: items }
    : { ...pages.at(-1), [name]: pages.flatMap((page) => page[name]) }
}

const withId = (persona: unknown): unknown =>
  isObject(persona) && persona.id === undefined && persona.uuid !== undefined
    ? { id: persona.uuid, ...persona }
    : persona

/** Returns the result of a waterfall with its numbers in `phone`; some servers have them in `phones`, with their kinds. */
export function withPhone(contact: Fields): Fields {
  const { phone, phones, phone_details } = contact
  if (!Array.isArray(phones) || phones.length === 0 || (Array.isArray(phone) ? phone.length > 0 : phone))
    return contact
  const details = phones.filter(isObject)
  return {
    ...contact,
    phone: phones.map((one: unknown) => (isObject(one) ? one.number : one)),
    ...(details.length > 0 && phone_details === undefined ? { phone_details: details } : {}),
  }
}

const withPhones = (body: Fields): Fields =>
  Array.isArray(body.contacts)
    ? { ...body, contacts: body.contacts.map((one: unknown) => (isObject(one) ? withPhone(one) : one)) }
    : withPhone(body)

/** Returns a search with its status in `search`, and in our words. */
function withSearch(body: Fields): Fields {
  const { leads, accounts, pagination, ...fields } = body
  const found = isObject(body.search)
    ? body
    : withoutUndefined({ search: fields, leads, accounts, pagination })
  const search = found.search as Fields
  const state = workStateOf(search.status)
  if (state === undefined) return search.status === undefined ? body : found
  return { ...found, search: { ...search, status: state === 'finished' ? 'FINISHED' : 'ERROR' } }
}

const readers: Partial<Record<OperationId, (body: Fields) => unknown>> = {
  'contacts.enrich_sync': withPhone,
  'contacts.get': withPhones,
  'contacts.get_enrichment': withPhones,
  'searches.get': withSearch,
  'personas.get': withId,
  'personas.create': withId,
  'personas.list': (body) =>
    Array.isArray(body.personas) ? { ...body, personas: body.personas.map(withId) } : body,
  'account.show': (body) => {
    const { account, workspace = {} } = body
    return isObject(account) && isObject(workspace) && workspace.plan === undefined
      ? { ...body, workspace: { ...workspace, plan: account.plan } }
      : body
  },
}

const statuses = new Set(['email_status', 'personal_email_status', 'most_probable_email_status'])
const values = new Set(['email', 'personal_email', 'most_probable_email', 'phone'])

/** Changes, in what was read from a server, the words of other services for the status of an address and for no value. */
export function readForeignWords(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  for (const [name, value] of Object.entries(body)) {
    if (name === 'custom') continue
    if (typeof value !== 'string') readForeignWords(value)
    else if (statuses.has(name)) Object.assign(body, { [name]: emailStatusOf(value) })
    else if (values.has(name) && isNone(value)) Object.assign(body, { [name]: null })
  }
}

const isNone = (text: string): boolean => /^n\/a$/i.test(text.trim())
