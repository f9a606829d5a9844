import { createHash } from 'node:crypto'
import { type Caller, ConnectionLost, type Reply, retryDelayMs } from '../api/calls/caller.js'
import { Refusal } from '../api/calls/errors.js'
import { isInProgress, isLimited, isUnavailable, passes } from '../api/calls/retry.js'
import { describeValue } from '../api/validation/fits.js'
import { toJson } from '../api/values/json.js'
import { type Fields, isObject, valueAt } from '../api/values/objects.js'
import { AskedAbout, questionOf } from '../identity/asked-about.js'
import { toCell } from '../runs/output/columns.js'
import { type FlowRow, fieldOf } from './fields.js'
import type { FlowOutput, HttpStep } from './read.js'

export interface HttpPorts {
  /** Sends JSON; `error` says why no answer came. */
  post(
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
    return template.replace(/\{([^{}]+)\}/g, (_, path: string) => toCell(fieldOf(row, path)))
  }
  if (Array.isArray(template)) return template.map((one) => fillBody(one, row))
  if (!isObject(template)) return template
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fillBody(value, row)]))
}

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

/** What answers the rows of a step that is no lookup. */
export interface RowCaller extends Caller {
  /** Notes a row that may be sent. */
  expect?(row: Fields): void
}

/**
 * Returns a caller that sends each row to an address, so many a second, and answers the fields of its result. Each row has its
 * key, the same one every time. An address that has a row already (409), or nothing for it (404), did not fail. An answer that
 * is about another row is none (decision 16).
 */
export function httpCaller(ports: HttpPorts, { http }: Pick<HttpStep, 'http'>): RowCaller {
  const { post: url, body, result, per_second: perSecond = usualRate } = http
  const headers = headersOf(ports, http.headers)
  const contentOf = (row: Fields) => (body ? fillBody(body, row) : row)
  const aboutRow = (row: Fields) => questionOf([row], [row, contentOf(row)])
  const askedAbout = new AskedAbout(ports)
  let expected: Fields[] = []
  let next = 0
  const turn = async (signal: AbortSignal | undefined) => {
    const now = ports.now()
    const at = Math.max(now, next)
    next = at + 1_000 / perSecond
    if (at > now) await ports.sleep(at - now, signal)
  }
  return {
    expect: (row) => {
      expected.push(row)
      if (expected.length > 2 * mostExpected) expected = expected.slice(-mostExpected)
    },
    call: async (_, { row }, { idempotencyKey, signal } = {}): Promise<Reply> => {
      await turn(signal)
      for (const one of expected.splice(0)) askedAbout.begin(aboutRow(one))
      const fields = isObject(row) ? row : {}
      const key = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      const answer = await ports.post(url, contentOf(fields), { ...key, ...headers })
      if ('error' in answer) {
        if (answer.isRefused) throw new Refusal('flow.http_refused', { url, reason: answer.error })
        // The address may have done its work: only the same key may ask again.
        if (answer.wasSent) return unknownReply(answer.error)
        throw new ConnectionLost(answer.error, false)
      }
      const { status } = answer
      const waitMs = retryDelayMs(answer.headers, isLimited(answer), ports.now())
      const wait = waitMs === undefined ? {} : { 'retry-after': String(waitMs / 1_000) }
      const reply = (code: number, body: unknown): Reply => ({
        status: code,
        body,
        headers: wait,
        credits: 0,
      })
      if (status === 401 || status === 403)
        throw new Refusal('flow.http_refused', { url, reason: `It answered ${status}` })
      // An earlier attempt with this key may be under way.
      const isWaiting = (isUnavailable(answer) || status === 409) && waitMs !== undefined
      if (isLimited(answer) || isWaiting || isInProgress(answer))
        return reply(429, { error: 'Too many requests' })
      const isKnown = status === 404 || status === 409
      if ((status < 200 || status > 299) && !isKnown)
        return reply(status, { error: `The address answered ${status}` })
      if (askedAbout.isOfAnother(aboutRow(fields), answer.body))
        return { ...unknownReply('The address answered about another row'), isSuspect: true }
      const names = Object.values(result).filter((path) => path !== statusPath)
      if (!isKnown && status !== 204 && answer.body === undefined && names.length > 0)
        return reply(502, { error: `The address answered ${status} without JSON` })
      if (!isKnown && status !== 204 && !isObject(answer.body) && names.length > 0)
        return reply(502, { error: `The address answered with ${describeValue(answer.body)}, not an object` })
      const read = (path: string) =>
        path === statusPath ? status : status === 404 ? undefined : valueAt(answer.body, path.split('.'))
      // A field that it does not answer stays as it was.
      const found = Object.entries(result).flatMap(([name, path]) => {
        const value = read(path)
        return value === undefined ? [] : [[name, value] as const]
      })
      if (isKnown && found.every(([, value]) => value === null))
        return reply(404, { error: `The address answered ${status}` })
      return reply(200, Object.fromEntries(found))
    },
    close: async () => {},
  }
}

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
  const headers = headersOf(ports, http.headers)
  let waiting: Fields[] = []
  let sent = 0
  const send = async (rows: readonly Fields[]) => {
    sent++
    // Rows that failed before may be among them now: other rows are another request.
    const key = `${flow()}-${sent}-${createHash('sha256').update(toJson(rows)).digest('hex').slice(0, 12)}`
    const keyed = { ...headers, 'idempotency-key': key }
    for (let tries = 1; ; tries++) {
      const answer = await ports.post(http.post, { rows }, keyed)
      if (!('error' in answer) && answer.status >= 200 && answer.status < 300) return
      // A request that was sent before, under the same key, was taken then.
      const isRepeated = tries > 1 || isResumed
      if (!('error' in answer) && answer.status === 409 && isRepeated && !isInProgress(answer)) return
      const reason = 'error' in answer ? answer.error : `It answered ${answer.status}`
      const isFinal = 'error' in answer ? answer.isRefused : !passes(answer) && !isInProgress(answer)
      if (isFinal || tries === maxTries) throw new Refusal('flow.http_refused', { url: http.post, reason })
      const asked =
        'error' in answer ? undefined : retryDelayMs(answer.headers, isLimited(answer), ports.now())
      await ports.sleep(asked ?? 1_000 * 2 ** tries, signal).catch(() => {
        throw new Refusal('flow.http_refused', { url: http.post, reason })
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
