import { createHash } from 'node:crypto'
import { type Caller, ConnectionLost, type Reply, retryDelayMs } from '../api/calls/caller.js'
import { Refusal } from '../api/calls/errors.js'
import { isInProgress, isLimited, isUnavailable, passes } from '../api/calls/retry.js'
import { describeValue } from '../api/validation/fits.js'
import { toJson } from '../api/values/json.js'
import { type Fields, isObject, valueAt } from '../api/values/objects.js'
import { AskedAbout, questionOf } from '../identity/asked-about.js'
import { parseExpression } from '../lists/expressions.js'
import { toCell } from '../runs/output/columns.js'
import type { BulkRequests } from '../runs/ports.js'
import { asFields, type FlowRow, fieldOf } from './fields.js'
import { addressIn, bracedField, bracedFields, httpMethods, itemPath, standInId } from './format.js'
import { answerScope, type FlowOutput, type HttpStep } from './read.js'

export interface HttpPorts {
  /** Sends JSON; `error` says why no answer came. */
  send(
    method: 'POST' | 'PUT' | 'PATCH',
    url: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<
    | { readonly status: number; readonly body: unknown; readonly headers: Reply['headers'] }
    | { readonly error: string; readonly isRefused: boolean; readonly wasSent: boolean }
  >
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Keeps a value out of logs and errors. */
  conceal(secret: string): void
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  now(): number
}

/** Returns the method and the address of a request. */
function requestLine(http: Readonly<Partial<Record<(typeof httpMethods)[number], string | undefined>>>) {
  const method = httpMethods.find((one) => http[one] !== undefined) ?? 'post'
  return { method: method.toUpperCase() as 'POST' | 'PUT' | 'PATCH', url: addressIn(http) }
}

/** Requests a second where a flow says nothing. */
const usualRate = 10

/** Returns the headers of a request: their values are in variables of the environment. */
function headersOf(ports: HttpPorts, names: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(names).map(([header, variable]) => {
      const value = ports.environment[variable]
      if (value === undefined || value === '') throw new Refusal('flow.no_variable', { header, variable })
      ports.conceal(value)
      return [header, value]
    }),
  )
}

/** Fills `{field}` in the texts of a body. A text that is a field alone becomes its value, with its type. */
function fillBody(template: unknown, row: Fields): unknown {
  if (typeof template === 'string') {
    const whole = /^\{([^{}]+)\}$/.exec(template)?.[1]
    if (whole !== undefined) return fieldOf(row, whole) ?? null
    return template.replace(bracedField, (_, path: string) => toCell(fieldOf(row, path)))
  }
  if (Array.isArray(template)) return template.map((one) => fillBody(one, row))
  if (!isObject(template)) return template
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fillBody(value, row)]))
}

/** Returns the field of an address that a row lacks: the request would be about something else. */
const lackingIn = (url: string, row: Fields): string | undefined =>
  bracedFields(url).find((path) => /^(?:\.{1,2})?$/.test(toCell(fieldOf(row, path)).trim()))

/** Fills `{field}` in an address. */
const fillAddress = (url: string, row: Fields): string =>
  url.replace(bracedField, (_, path: string) => encodeURIComponent(toCell(fieldOf(row, path)).trim()))

/** Returns the reply in place of an answer that did not come, or is about another row: whether work was done is not known. */
const unknownReply = (error: string): Reply => ({
  status: 502,
  body: { error, code: 'outcome_unknown' },
  headers: {},
  credits: 0,
})

/** The path of a result that is the status of the answer. */
const statusPath = '$status'

/** Rows that are read and may be sent, at most: an address may answer one row with the answer to the next. */
const mostExpected = 4_096

/** The field of an answer that takes its row out of the flow. */
export const droppedField = '$dropped'

/** How often a row is sent again because an outcome says so. */
const maxAgain = 10
/** How much of what an address says of an error is shown. */
const shownLetters = 200

/** What answers the rows of a step that is no lookup. */
export interface RowCaller extends Caller {
  /** Notes a row that may be sent. */
  expect?(row: Fields): void
  /** How several rows are sent in one request; absent where each is one. */
  readonly bulk?: BulkRequests | undefined
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Reply['headers']
}

/** Returns what an address says of an error, as the end of a sentence. */
function errorIn(source: unknown): string {
  const said = isObject(source) ? (source.error ?? source.message) : undefined
  return typeof said === 'string' && said !== '' ? `: ${said.slice(0, shownLetters)}` : ''
}

/**
 * Returns a caller that sends rows to an address, one or several in a request, so many requests a second, and answers the
 * fields of its result. Each request has its key, the same one every time. An address that has a row already (409), or nothing
 * for it (404), did not fail, unless the outcomes of the step say so. An answer that is about another row is none (decision 16).
 */
export async function httpCaller(ports: HttpPorts, { http }: Pick<HttpStep, 'http'>): Promise<RowCaller> {
  const { body, result = {}, item, rows: most, per_second: perSecond = usualRate } = http
  const { method, url } = requestLine(http)
  const headers = headersOf(ports, http.headers)
  const outcomes = await Promise.all(
    (http.outcomes ?? []).map(async ({ when, is }) => {
      const { test } = await parseExpression(when, answerScope, 'outcomes.when')
      return { is, test }
    }),
  )
  const outcomeOf = ({ status, body = null, headers: said }: Answer, own: unknown) =>
    outcomes.find(({ test }) => test({ status, headers: said, body, item: own ?? null }))?.is
  const listAt = itemPath
    .exec(item ?? '')?.[1]
    ?.split('.')
    .filter(Boolean)
  const contentOf = (row: Fields) => (body ? fillBody(body, row) : row)
  const aboutRow = (row: Fields) => questionOf([row], [row, contentOf(row)])
  const askedAbout = new AskedAbout(ports)
  const tries = new Map<string | undefined, number>()
  let expected: Fields[] = []
  let next = 0
  const turn = async (signal: AbortSignal | undefined) => {
    const now = ports.now()
    const at = Math.max(now, next)
    next = at + 1_000 / perSecond
    if (at > now) await ports.sleep(at - now, signal)
  }
  const replyTo = (code: number, content: unknown, given: Reply['headers'] = {}): Reply => ({
    status: code,
    body: content,
    headers: given,
    credits: 0,
  })
  /** Returns what comes of a row: `own` is the item of the answer about it, or all of the answer. */
  const replyFor = (row: Fields, { status, ...answer }: Answer, own: unknown, isShared: boolean): Reply => {
    const word = outcomeOf({ status, ...answer }, listAt ? own : null)
    if (word === 'failed' || word === 'again')
      return replyTo(502, { error: `The address answered ${status}${errorIn(own)}` })
    if (word === 'drop') return replyTo(200, { [droppedField]: true })
    const isKnown = word === 'keep' || (word === undefined && (status === 404 || status === 409))
    if (word === undefined && (status < 200 || status > 299) && !isKnown)
      return replyTo(status, { error: `The address answered ${status}` })
    if (!isShared && askedAbout.isOfAnother(aboutRow(row), own))
      return { ...unknownReply('The address answered about another row'), isSuspect: true }
    const names = Object.values(result).filter((path) => path !== statusPath)
    const needsObject = !isKnown && status !== 204 && names.length > 0
    if (needsObject && own === undefined)
      return replyTo(502, { error: `The address answered ${status} without JSON` })
    if (needsObject && !isObject(own))
      return replyTo(502, { error: `The address answered with ${describeValue(own)}, not an object` })
    const read = (path: string) =>
      path === statusPath
        ? status
        : status === 404 && word === undefined
          ? undefined
          : valueAt(own, path.split('.'))
    // A field that it does not answer stays as it was.
    const found = Object.entries(result).flatMap(([name, path]) => {
      const value = read(path)
      return value === undefined ? [] : [[name, value] as const]
    })
    if (isKnown && found.every(([, value]) => value === null))
      return replyTo(404, { error: `The address answered ${status}` })
    return replyTo(200, Object.fromEntries(found))
  }
  /** Returns the replies to the rows of a request, or the one that is for all of them. */
  const repliesOf = (rows: readonly Fields[], answer: Answer, key: string | undefined): Reply | Reply[] => {
    const { status } = answer
    const waitMs = retryDelayMs(answer.headers, isLimited(answer), ports.now())
    const wait = waitMs === undefined ? {} : { 'retry-after': String(waitMs / 1_000) }
    const again = () => replyTo(429, { error: 'Too many requests' }, wait)
    const word = outcomeOf(answer, null)
    if (word === 'again') {
      const tried = (tries.get(key) ?? 0) + 1
      tries.set(key, tried)
      if (tried < maxAgain) return again()
      const error = `The address answered ${status} ${maxAgain} times, and was to be asked again`
      return rows.map(() => replyTo(502, { error }))
    }
    if (word === undefined) {
      if (status === 401 || status === 403)
        throw new Refusal('flow.http_refused', { url, reason: `It answered ${status}` })
      // An earlier attempt with this key may be under way.
      const isWaiting = (isUnavailable(answer) || status === 409) && waitMs !== undefined
      if (isLimited(answer) || isWaiting || isInProgress(answer)) return again()
      // One of the rows may be what it does not take.
      const isRefused = status === 400 || status === 413 || status === 422
      if (isRefused && rows.length > 1) return replyTo(status, { error: `The address answered ${status}` })
    }
    const list = listAt && valueAt(answer.body, listAt)
    if (listAt && (Array.isArray(list) || (status >= 200 && status < 300))) {
      const items: readonly unknown[] = Array.isArray(list) ? list : []
      // One that is missing would move those behind it to the wrong rows.
      if (items.length === rows.length) return rows.map((row, at) => replyFor(row, answer, items[at], false))
      const error = `The address answered ${items.length} items for ${rows.length} rows`
      return rows.map(() => unknownReply(error))
    }
    return rows.map((row) => replyFor(row, answer, answer.body, rows.length > 1))
  }
  const call: RowCaller['call'] = async (_, input, { idempotencyKey, signal } = {}) => {
    const rows = (Array.isArray(input.rows) ? input.rows : [input.row]).map(asFields)
    const [first = {}] = rows
    const lacking = lackingIn(url, first)
    if (lacking !== undefined)
      return replyTo(422, { error: `The address needs ${lacking}, which the row does not have` })
    await turn(signal)
    for (const one of expected.splice(0)) askedAbout.begin(aboutRow(one))
    const key = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    const contents = rows.map(contentOf)
    const content = most === undefined ? contents[0] : { rows: contents }
    const answer = await ports.send(method, fillAddress(url, first), content, { ...key, ...headers })
    if ('error' in answer) {
      if (answer.isRefused) throw new Refusal('flow.http_refused', { url, reason: answer.error })
      // The address may have done its work: only the same key may ask again.
      if (answer.wasSent) return unknownReply(answer.error)
      throw new ConnectionLost(answer.error, false)
    }
    const replies = repliesOf(rows, answer, idempotencyKey)
    if (!Array.isArray(replies)) return replies
    return most === undefined ? (replies[0] as Reply) : replyTo(200, { replies })
  }
  return {
    expect: (row) => {
      expected.push(row)
      if (expected.length > 2 * mostExpected) expected = expected.slice(-mostExpected)
    },
    call,
    close: async () => {},
    bulk: most === undefined ? undefined : bulkOf(most),
  }
}

/** Returns how so many rows are sent in one request, whose answer has those to all of them. */
const bulkOf = (most: number): BulkRequests => ({
  operation: standInId,
  reader: standInId,
  into: 'rows',
  shared: [],
  least: 2,
  most,
  direct: {
    request: (inputs) => ({ rows: inputs.map(({ row }) => row) }),
    replies: (body) => (isObject(body) ? (body.replies as readonly Reply[]) : []),
  },
})

/** How often a request with rows is sent again that the address could not take. */
const maxTries = 5

/** Creates an output that sends rows to an address, so many in a request, each request under a key of its own. */
export function httpOutput(
  ports: HttpPorts,
  { http }: Extract<FlowOutput, { kind: 'http' }>,
  flow: () => string,
  record: (row: FlowRow & { readonly fields: Fields }) => Fields,
  isResumed: boolean,
  signal: AbortSignal,
) {
  const most = http.rows ?? 100
  const { method, url } = requestLine(http)
  const headers = headersOf(ports, http.headers)
  let waiting: Fields[] = []
  let sent = 0
  const send = async (rows: readonly Fields[]) => {
    sent++
    // Rows that failed before may be among them now: other rows are another request.
    const key = `${flow()}-${sent}-${createHash('sha256').update(toJson(rows)).digest('hex').slice(0, 12)}`
    const keyed = { ...headers, 'idempotency-key': key }
    for (let tries = 1; ; tries++) {
      const answer = await ports.send(method, url, { rows }, keyed)
      if (!('error' in answer) && answer.status >= 200 && answer.status < 300) return
      // A request that was sent before, under the same key, was taken then.
      const isRepeated = tries > 1 || isResumed
      if (!('error' in answer) && answer.status === 409 && isRepeated && !isInProgress(answer)) return
      const reason = 'error' in answer ? answer.error : `It answered ${answer.status}`
      const isFinal = 'error' in answer ? answer.isRefused : !passes(answer) && !isInProgress(answer)
      if (isFinal || tries === maxTries) throw new Refusal('flow.http_refused', { url, reason })
      const asked =
        'error' in answer ? undefined : retryDelayMs(answer.headers, isLimited(answer), ports.now())
      await ports.sleep(asked ?? 1_000 * 2 ** tries, signal).catch(() => {
        throw new Refusal('flow.http_refused', { url, reason })
      })
    }
  }
  return {
    async write(rows: readonly (FlowRow & { readonly fields: Fields })[]) {
      waiting.push(...rows.map(record))
      for (; waiting.length >= most; waiting = waiting.slice(most)) await send(waiting.slice(0, most))
    },
    async finish() {
      if (waiting.length > 0) await send(waiting)
      waiting = []
    },
    abandon: async () => {},
  }
}
