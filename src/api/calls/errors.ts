import type { Operation } from '../operations/table.js'
import { type Fields, isObject, once } from '../values/objects.js'
import type { Reply } from './caller.js'
import { exitCodes } from './exit-codes.js'

interface ErrorRow {
  readonly status: number
  /** `{name}` is replaced by a detail. */
  readonly text: string
  /** Exit code of a command that ends with this error. */
  readonly exit: number
  /** What the user can do about it. */
  readonly hint: string
  /** The `code` on the wire, when the specification or a decision defines one. */
  readonly code?: string
  /** Whether every further request of a batch would get it too. */
  readonly stops?: true
  /** One of the operation's own errors, which take the operation's body shape. */
  readonly own?: true
}

/** Every error of the API. Status, text, exit code and hint are defined here and nowhere else. */
// biome-ignore format: one row, one line
export const errors = {
  missing_keys: { status: 400, text: 'Missing required keys: {keys}', exit: 7, own: true, hint: 'Give the missing fields.' },
  bad_request: { status: 400, text: '{reason}', exit: 7, own: true, hint: 'Correct the request.' },
  malformed_json: { status: 400, text: 'The request body is not valid JSON', exit: 7, own: true, hint: 'Send a JSON object.' },
  invalid_cursor: { status: 400, text: 'Invalid pagination cursor', exit: 7, own: true, hint: 'Pass next_cursor back unchanged, or start again without a cursor.' },
  invalid_idempotency_key: { status: 400, text: 'Idempotency-Key must be 1 to 255 visible ASCII characters', exit: 7, own: true, hint: 'Use a uuid.' },
  invalid_api_key: { status: 401, text: 'Invalid API key', exit: 3, stops: true, hint: 'Give a valid key.' },
  insufficient_credits: { status: 402, text: 'Insufficient credits: need {need} credits, have {have}', exit: 4, code: 'insufficient_credits', stops: true, hint: 'Buy credits from your vendor, then send it again.' },
  workspace_limit_exceeded: { status: 403, text: 'Workspace weekly credit limit exceeded', exit: 5, code: 'workspace_limit_exceeded', stops: true, hint: 'Buying credits does not lift this limit: wait until Monday 00:00 UTC, or ask an admin to raise it.' },
  forbidden: { status: 403, text: 'This API key has no access to this endpoint', exit: 3, stops: true, hint: 'Use a key whose scopes include this area.' },
  forbidden_host: { status: 403, text: 'This host name is not served here (prospect serve --allow-host NAME serves it)', exit: 3, hint: 'Use the address that the server printed.' },
  forbidden_origin: { status: 403, text: 'Requests from browsers are not served here', exit: 3, hint: 'Call the API from a program, not from a page.' },
  not_found: { status: 404, text: 'Not found', exit: 9, own: true, hint: 'Check the id.' },
  no_company_found: { status: 404, text: 'No company found', exit: 9, own: true, hint: 'Give another identifier: profile url, domain or name with country.' },
  no_person_found: { status: 404, text: 'No person found', exit: 9, own: true, hint: 'Give another identifier: profile url, or name with company.' },
  method_not_allowed: { status: 405, text: 'Method not allowed', exit: 7, hint: 'See the Allow header.' },
  request_timeout: { status: 408, text: 'The request took too long to arrive', exit: 10, hint: 'Send it again, faster.' },
  idempotency_key_reused: { status: 409, text: 'This idempotency key was used for another request', exit: 7, code: 'idempotency_key_reused', own: true, hint: 'Use a new key for a new request.' },
  idempotency_in_progress: { status: 409, text: 'A request with this idempotency key is still running', exit: 7, code: 'idempotency_in_progress', own: true, hint: 'Try again in a moment with the same key.' },
  lookup_in_progress: { status: 409, text: 'The same lookup is still under way for somebody else', exit: 7, code: 'lookup_in_progress', own: true, hint: 'Try again in a moment: its answer is not paid for twice.' },
  lookup_in_doubt: { status: 409, text: 'A request for several with the same lookup was sent, and whether it was done and charged is not known', exit: 10, code: 'outcome_unknown', own: true, hint: 'Send it with Cache-Control: no-cache to pay for it all the same.' },
  body_too_large: { status: 413, text: 'The request body is larger than {limit} bytes', exit: 7, hint: 'Send less at once.' },
  too_many_values: { status: 413, text: 'The request body has more than {limit} values', exit: 7, hint: 'Send less at once.' },
  unsupported_media_type: { status: 415, text: 'Content-Type must be application/json', exit: 7, hint: 'Send JSON.' },
  unsupported_encoding: { status: 415, text: 'Compressed request bodies are not accepted', exit: 7, hint: 'Send the body without Content-Encoding.' },
  invalid: { status: 422, text: '{reason}', exit: 7, own: true, hint: 'Correct the field.' },
  unknown_place: { status: 422, text: "Unknown place in {field}: '{id}'", exit: 7, own: true, hint: 'POST /locations finds places and their ids.' },
  plan_limit_reached: { status: 422, text: "Can't proceed with the request. Plan limit reached.", exit: 6, own: true, stops: true, hint: 'Wait for the reset: daily at 00:00 UTC, monthly on the 1st.' },
  network_session_required: { status: 422, text: 'A valid network session is required, or use live: false', exit: 7, own: true, stops: true, hint: 'Reconnect the session, or send live: false.' },
  session_required: { status: 422, text: 'A valid network session is required', exit: 7, own: true, stops: true, hint: 'Reconnect the session.' },
  consent_required: { status: 422, text: 'Personal email enrichment requires consent', exit: 7, own: true, stops: true, hint: 'The member whose key is used has to consent, not the person who is looked up: record that, or leave personal_email out.' },
  rate_limited: { status: 429, text: 'Rate limit exceeded. Please wait before retrying.', exit: 8, hint: 'Wait for the time in Retry-After.' },
  network_rate_limited: { status: 429, text: 'Rate limited by the network. Please wait a few hours before retrying.', exit: 8, stops: true, hint: 'Wait a few hours.' },
  headers_too_large: { status: 431, text: 'The request headers are too large', exit: 7, hint: 'Send fewer or shorter headers.' },
  internal: { status: 500, text: 'Internal server error', exit: 10, hint: 'Try again; if it stays, report it to whoever runs the server.' },
  bad_gateway: { status: 502, text: 'Upstream answered {reason}', exit: 10, hint: 'Try again later.' },
  unusable_answer: { status: 502, text: 'Upstream answered {reason}', exit: 10, code: 'unusable_answer', hint: 'Check the address of the server behind this one, and what stands before it.' },
  vendor_answer_lost: { status: 502, text: 'Nothing was found, and the answer of {names} was lost: it may have charged', exit: 10, code: 'outcome_unknown', hint: 'It is not asked again; the same command goes on with work that it accepted.' },
  busy: { status: 503, text: 'The database is busy', exit: 10, hint: 'Try again in a moment.' },
  storage_failed: { status: 503, text: 'The database cannot be used: {reason}', exit: 10, stops: true, hint: 'Fix this and try again; this request was not charged.' },
  database_read_only: { status: 503, text: 'The database is read-only: {reason}', exit: 10, stops: true, hint: 'Give the address of the primary server in PROSPECT_DATABASE_URL, or wait until this one can be written; this request was not charged.' },
  database_unreachable: { status: 503, text: 'The database cannot be reached: {reason}', exit: 10, stops: true, hint: 'Check that it runs, and its address in PROSPECT_DATABASE_URL; this request was not charged.' },
  outcome_unknown: { status: 503, text: 'The database was lost while it kept the result; whether the work was done and charged is not known', exit: 10, stops: true, hint: 'Send it again with the same idempotency key: it is charged once.' },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errors

/** What a refusal is about: plain data, of which a sentence is made where a person reads it. */
export type Details = Readonly<Record<string, unknown>>

/** The code of a refusal that is no error of the API: the area it comes from, and what is wrong. */
export type LocalCode =
  `${'crm' | 'csv' | 'dashboard' | 'database' | 'doctor' | 'engine' | 'explain' | 'expression' | 'field' | 'flow' | 'import' | 'interrupted' | 'list' | 'listen' | 'map' | 'output' | 'pages' | 'provider' | 'proxy' | 'record' | 'run' | 'tools' | 'usage' | 'workbook'}.${string}`

/** What a person should know: a refusal without the end. */
export interface Note {
  readonly code: LocalCode
  readonly details: Details
}

/** The report of a command that fails: the object on stderr when the output is JSON. */
export interface Report {
  readonly error: string
  readonly code: string | null
  /** HTTP status of the API's answer; null when none came. */
  readonly status: number | null
  readonly exit_code: number
  readonly hint: string
}

/**
 * What is refused on purpose. It has a code and details, and no sentence: `cli/messages.ts` has those for people, and
 * the table above those on the wire (decision 20). Where something is in a file, `line` counts from 1 as an editor
 * does.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'

  constructor(
    readonly code: ErrorCode | LocalCode,
    readonly details: Details = {},
    message: string = code,
  ) {
    // A refusal is not a bug: its stack is never read, and recording one costs more than the rest.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

export const isRefusal = (error: unknown, code: Refusal['code']): error is Refusal =>
  error instanceof Refusal && error.code === code

/** A refusal with a row in the error table; its message is the text on the wire. */
export class ApiError extends Refusal {
  override readonly name = 'ApiError'
  declare readonly code: ErrorCode
  readonly status: number

  constructor(
    code: ErrorCode,
    details: Details = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(
      code,
      details,
      errors[code].text.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? '')),
    )
    this.status = errors[code].status
  }
}

export function errorBody(error: ApiError, operation?: Pick<Operation, 'errors'>): Record<string, unknown> {
  const row: ErrorRow = errors[error.code]
  const coded = row.own === true && operation?.errors === 'coded'
  const base = coded ? { error: row.status, message: error.message } : { error: error.message }
  const { not_asked, answers_lost } = error.details
  const vendors = { ...(not_asked ? { not_asked } : {}), ...(answers_lost ? { answers_lost } : {}) }
  const code = { ...base, ...(row.code ? { code: row.code } : {}), ...vendors }
  const { top_up_url } = error.details
  return error.code === 'insufficient_credits' && top_up_url !== undefined ? { ...code, top_up_url } : code
}

/** Returns the refusal that work throws; `undefined` where it throws none. */
export function refusalOf(work: () => unknown): Refusal | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

export const toRefusal = (error: ApiError, operation: Operation): Reply => {
  const { status, headers } = error
  return { status, body: errorBody(error, operation), headers, credits: 0 }
}

/** What a failed reply means to a command: its table row, found by status, `code` and text, and its own text. */
export interface Failure {
  readonly text: string
  readonly code?: string
  readonly exit: number
  /** Its row; `undefined` where the table has none. */
  readonly means: ErrorCode | undefined
  /** Whether every further request would get it too. */
  readonly stops: boolean
  /** Where the server sells credits, as it says. */
  readonly topUpUrl?: string
}

/**
 * Other ways in which servers express an error of the table: their statuses, and what the text must say. Empty
 * balances were 422 (waterfall, validation, hiring, stack) or 401 (intents) before they were 402.
 */
const habits: readonly (readonly [statuses: readonly number[], says: RegExp, means: ErrorCode])[] = [
  [
    [401, 422],
    /\b(?:insufficient|not enough|out of|no(?: more)?) (?:\w+ ){0,2}credits?\b|\bcredits? (?:\w+ ){0,2}(?:exhausted|insufficient|used up)\b/i,
    'insufficient_credits',
  ],
  [[422], /\bweekly\b.*\blimit\b|\blimit\b.*\bweek\b/i, 'workspace_limit_exceeded'],
  [[422], /\bplan(?:'s)? (?:\w+ ){0,3}(?:limit|quota)s?\b/i, 'plan_limit_reached'],
  [[422], /\b(?:limit|quota)s? (?:\w+ ){0,4}plan\b/i, 'plan_limit_reached'],
  [[422], /\b(?:daily|monthly) (?:\w+ ){0,3}(?:limit|quota)s?\b/i, 'plan_limit_reached'],
  [[429], /\ba few hours\b|\bby the network\b/i, 'network_rate_limited'],
]

/** Returns the error that the text of a refusal stands for, for use when its code says nothing. */
function findHabit(status: number, texts: readonly (string | undefined)[]): ErrorCode | undefined {
  const ofStatus = habits.filter(([statuses]) => statuses.includes(status))
  if (ofStatus.length === 0) return undefined
  const text = texts.join('. ').replaceAll('_', ' ')
  return ofStatus.find(([, says]) => says.test(text))?.[2]
}

/** Reads the failure from a status and body of any server of this API. */
export function failureOf(status: number, body: unknown): Failure {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const texts = [fields.message, fields.error, fields.errors]
    .flat()
    .filter((value) => typeof value === 'string')
  const [text] = texts
  const said = typeof fields.code === 'string' ? fields.code : undefined
  const coded = said === undefined ? undefined : codesOf(status).find((code) => rowOf(code).code === said)
  const meant = coded ? undefined : findHabit(status, [...texts, said])
  const means = coded ?? meant ?? findCode(status, text ?? '')
  const row = means && rowOf(means)
  const code = said ?? (meant && rowOf(meant).code)
  return {
    text: text ?? (row && !row.text.includes('{') ? row.text : `The server answered ${status}`),
    ...(code === undefined ? {} : { code }),
    exit: row?.exit ?? (status >= 500 ? exitCodes.unreachable : exitCodes.refused),
    means,
    stops: row?.stops ?? false,
    ...(means === 'insufficient_credits' && isWebAddress(fields.top_up_url)
      ? { topUpUrl: fields.top_up_url }
      : {}),
  }
}

/**
 * Returns the status of an error that came as a success: by its number, its code, or the API's own text; `undefined` where it
 * has none of them.
 */
export function statusOfError({ error, message, code }: Fields): number | undefined {
  if (isObject(error))
    return statusOfError({ error: error.status, message: error.message, code: error.code ?? error.type })
  if (typeof error === 'number') return error >= 400 && error < 600 ? error : undefined
  const coded =
    typeof code === 'string' ? Object.values<ErrorRow>(errors).find((row) => row.code === code) : undefined
  if (coded) return coded.status
  // Many write the code in place of the sentence.
  const named = [code, error].find((name) => typeof name === 'string' && Object.hasOwn(errors, name))
  if (named !== undefined) return rowOf(named as ErrorCode).status
  const texts = [message, error].filter((text) => typeof text === 'string')
  return Object.values<ErrorRow>(errors).find((row) => texts.some((text) => matchesTemplate(text, row.text)))
    ?.status
}

const isWebAddress = (text: unknown): text is string =>
  typeof text === 'string' && /^https?:\/\/[\x21-\x7e]{1,500}$/.test(text)

const rowOf = (code: ErrorCode): ErrorRow => errors[code]

const codesByStatus = once(() => {
  const codes = Object.keys(errors) as ErrorCode[]
  return Map.groupBy<number, ErrorCode>(codes, (code) => errors[code].status)
})

export const codesOf = (status: number): readonly ErrorCode[] => codesByStatus().get(status) ?? []

/** Returns the error of a status without a code. Servers may omit the code, so the only one of a status matches as well. */
function findCode(status: number, text: string): ErrorCode | undefined {
  const codes = codesOf(status)
  if (codes.length === 1) return codes[0]
  const plain = codes.filter((code) => !rowOf(code).code)
  return (
    plain.find((code) => matchesTemplate(text, rowOf(code).text)) ??
    plain.find((code) => rowOf(code).text.startsWith('{')) ??
    plain[0]
  )
}

/** Returns whether a text matches a template; false for a template that consists of placeholders. */
function matchesTemplate(text: string, template: string): boolean {
  if (!template.includes('{')) return text === template
  const words = template.split(/\{\w+\}/)
  const [head = '', tail = ''] = [words[0], words.at(-1)]
  return (
    head !== '' && text.length >= head.length + tail.length && text.startsWith(head) && text.endsWith(tail)
  )
}

/** Returns the refusal of work that a signal of the system ended; the reason of the abort is the name of that signal. */
export const interrupted = ({ reason }: AbortSignal, during: string, path?: string): Refusal =>
  new Refusal(`interrupted.${during}`, { signal: reason, path })

/** Returns what a system call on a pipe returns; `undefined` where it would have to wait. */
export const unlessBusy = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (systemCode(error) !== 'EAGAIN') throw error
    return undefined
  })

/** Returns the system's code of an error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Refusal) return undefined
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}
