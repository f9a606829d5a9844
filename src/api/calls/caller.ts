import type { OperationId } from '../operations/table.js'
import { dayMs } from '../values/dates.js'
import { isObject } from '../values/objects.js'

/** The fields of a request: body, query and path parameters in one object, in the specification's names. */
export type Input = Readonly<Record<string, unknown>>

/** The columns of its file that data vendors of the user are asked with about a row, by their names. */
export type RowColumns = Readonly<Record<string, string>>

/** Where the input of a row has them. No request has them: what asks the engine of this machine takes them out. */
export const columnsField = '_columns'

/** A row of a run on this machine, which stores the results itself. */
export interface RunRow {
  /** Unguessable id of the run. */
  readonly run: string
  readonly ordinal: number
  /** Whether it was certainly never sent before, so that there is no earlier reply to look for. */
  readonly fresh: boolean
}

/** Who makes a call, where a proxy has checked the key. */
export interface CallMember {
  readonly id: string
  readonly workspaceId: string
  readonly email: string
  readonly name: string | null
  /** Credits per week; null without a limit. */
  readonly weeklyLimit: number | null
  /** Whether they have consented to look up personal addresses. */
  readonly consentPersonalEmail: boolean
}

/** What the calls of a run may cost at data vendors of the workspace, each in its own credits. */
export interface VendorSpending {
  /** Id of the run that the calls belong to. */
  readonly run: string
  /** The most by vendor. */
  readonly most?: Readonly<Record<string, number>> | undefined
  /** The most at each of those that are not named; without it there is no limit. At 0 they are not asked. */
  readonly others?: number | undefined
  /** Whether to go on until an address is valid. */
  readonly accept?: 'valid' | undefined
  /** Whose answers were lost before this moment (real time) are asked once more, though they may have charged: somebody wants it. */
  readonly lostBefore?: number | undefined
}

/** What accompanies a request without being part of it. */
export interface CallOptions {
  readonly apiKey?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Returns the idempotency key of a call to a server that was given none; the same one for each repetition. */
  readonly freshKey?: (() => string) | undefined
  /**
   * How old a stored answer may be that a lookup gets, in milliseconds; 0 asks again. Without it, whoever stores answers
   * decides.
   */
  readonly maxAgeMs?: number | undefined
  /** Replaces the idempotency key for a target on this machine: the reply is kept until `discardReplies`. */
  readonly row?: RunRow | undefined
  /** Ignored by servers, whose vendors are their own. */
  readonly vendors?: VendorSpending | undefined
  /** The columns of the row, or of each row of a request for several, that vendors are asked with. Ignored by servers. */
  readonly columns?: readonly (RowColumns | undefined)[] | undefined
  readonly signal?: AbortSignal | undefined
  /** Called when a reply of a server that was returned turns out to be perhaps the one to another request. */
  readonly onSuspect?: (() => void) | undefined
  /** Set by a governed proxy; never by who calls. */
  readonly member?: CallMember | undefined
  /** Origin the request came in on, for `top_up_url`. */
  readonly origin?: string | undefined
}

/** No reply came: the connection was refused, cut off or timed out. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /** Whether the work may have been done and charged all the same; false when nothing was sent, or only data was read. */
  readonly unknown: boolean

  constructor(message: string, unknown = true) {
    super(message)
    this.unknown = unknown
  }
}

/** Returns the error of a call without a reply; throws any other error again, because it is a bug. */
export function lostCall(error: unknown): ConnectionLost {
  if (error instanceof ConnectionLost) return error
  throw error
}

/** What becomes of an answer that a fault on demand takes away after the work. */
export type AnswerLoss = 'dropped' | 'timed_out' | 'truncated' | 'garbled'

/** A reply; refusals are replies too. Only `ConnectionLost` or a bug is thrown. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** Lower-case names, such as `ratelimit-limit`, `retry-after`, `idempotent-replayed`. */
  readonly headers: Readonly<Record<string, string>>
  /** Credits this call charged. */
  readonly credits: number
  /** Credits that the first call of this row charged, when this is its stored reply. */
  readonly replayed?: number
  /** Whether the work may have been done all the same: not a refusal, but a fault on the way. */
  readonly unknown?: true
  /** Whether a server's answer was discarded because it is, or may be, the one to another request. */
  readonly isSuspect?: true
  /** Whether somebody who is suppressed was found, and is left out, so that nothing is left. */
  readonly isSuppressed?: true
  /** Of a request for several, the positions of what was found and is left out because it is about somebody suppressed. */
  readonly hiddenItems?: readonly number[]
  /** For a 429 that no server sent: how long to wait, more precise than the whole seconds of the headers. */
  readonly waitMs?: number
  /** The body as JSON, where it was written before or came as such. */
  readonly text?: string
  /**
   * The body byte for byte as another server sent it, in its words, to be passed on.
   */
  readonly wire?: Uint8Array<ArrayBuffer>
  /** For `answerRequest`: the client must not get this answer, by a fault on demand. A `call` never returns one. */
  readonly loss?: AnswerLoss | undefined
  /**
   * For a success of another server that cannot be used: what it sent, which may be paid for. Empty where a proxy before that
   * server has it.
   */
  readonly unusable?: string
}

/** The one way to call the API: the engine, a remote server, a proxy and an in-process server are all callers. */
export interface Caller {
  call(id: OperationId, input: Input, options?: CallOptions): Promise<Reply>
  /**
   * Answers a request of a server. Its input is read only when the key may make the request now, so that a body that is
   * refused anyway is never read. Absent when keys are not checked.
   */
  answerRequest?(id: OperationId, readInput: () => Promise<Input>, options?: CallOptions): Promise<Reply>
  /** Returns the 429 that a call would be answered now, whatever its input if none is given; `undefined` when it may be sent. */
  refusedNow?(id: OperationId, options?: CallOptions, input?: Input): Promise<Reply | undefined>
  /** Returns whether repeated calls under one idempotency key have one effect; assumed when absent. */
  supportsIdempotency?(): Promise<boolean>
  /** Discards stored replies to the rows of a run below an ordinal, since the run has stored them. Servers ignore it. */
  discardReplies?(run: string, before: number, options?: CallOptions): Promise<void>
  /**
   * Returns the stored replies to rows of runs that nobody works on. Rows without one have had no effect, and have none before
   * `reopenRows`. Absent where replies are not kept for rows.
   */
  concludeRows?(
    id: OperationId,
    rows: readonly RunRow[],
    options?: CallOptions,
  ): Promise<readonly (Reply | undefined)[]>
  /** Has rows of a run answered again that were concluded. */
  reopenRows?(run: string, options?: CallOptions): Promise<void>
  close(): Promise<void>
}

export const isOk = (reply: Reply): boolean => reply.status >= 200 && reply.status < 300

/**
 * Returns what a reply has beside its age that this machine, or a proxy, has stored (RFC 9211), with the email of the member who
 * paid for it.
 */
export function storedHeaders(payer?: string | null) {
  const detail = payer ? `; detail="${encodePayer(payer)}"` : ''
  return { 'cache-status': `prospect; hit${detail}` }
}

const encodePayer = (email: string): string => encodeURIComponent(email).replaceAll('%40', '@')

function decodePayer(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** What a reply has beside where it is that to an earlier request under the same idempotency key. */
export const replayedHeaders = { 'idempotent-replayed': 'true' } as const

/** Whether a reply was paid for before, and comes from what was stored then. */
export const isFromStore = ({ headers }: Pick<Reply, 'headers'>): boolean =>
  (headers['cache-status'] ?? '').split(',').some((cache) => /^\s*prospect\s*;\s*hit\b/.test(cache))

/** Returns the email of who paid for a stored reply, as far as it says so. */
export function payerOf({ headers }: Pick<Reply, 'headers'>): string | undefined {
  const [, detail] = /\bprospect\s*;\s*hit\s*;\s*detail="([^"\\]*)"/.exec(headers['cache-status'] ?? '') ?? []
  return decodePayer(detail)
}

/** Returns what a reply has of which a number of items was stored, the oldest that long ago (RFC 9211). */
export const partlyStored = (items: number, ageMs: number) => ({
  age: String(Math.max(0, Math.floor(ageMs / 1_000))),
  'cache-status': `prospect; fwd=partial; detail="${items}"`,
})

/** Returns how many items of a reply were stored; `undefined` where it does not say so. */
export function partIn({ headers }: Pick<Reply, 'headers'>): number | undefined {
  const items = /\bprospect\s*;\s*fwd=partial\s*;\s*detail="(\d{1,4})"/.exec(
    headers['cache-status'] ?? '',
  )?.[1]
  return items === undefined ? undefined : Number(items)
}

/** An item of a reply to a request for several that was stored. */
export interface StoredItem {
  /** Its position. */
  readonly at: number
  readonly ageMs: number
  /** Email of the member who paid. */
  readonly payer?: string | null | undefined
}

/** Returns what a reply to a request for several has that says of each stored item how old it is and who paid (RFC 9651). */
export const storedItems = (items: readonly StoredItem[]) => ({
  'prospect-stored': items
    .map(({ at, ageMs, payer }) => {
      const by = payer ? `;by="${encodePayer(payer)}"` : ''
      return `${at};age=${Math.max(0, Math.floor(ageMs / 1_000))}${by}`
    })
    .join(', '),
})

/** Returns the headers that an item of a reply to a request for several would have as a reply of its own. */
export function headersOfItem({ headers }: Pick<Reply, 'headers'>, at: number): Reply['headers'] {
  const { 'prospect-stored': stored } = headers
  if (stored === undefined) return headers
  const item = stored.split(',').find((one) => one.trim().startsWith(`${at};`))
  const [, age, by] = /;age=(\d{1,12})(?:;by="([^"\\]*)")?\s*$/.exec(item ?? '') ?? []
  return age === undefined ? {} : { age, ...storedHeaders(decodePayer(by)) }
}

/** Returns how long ago a stored reply was given, in milliseconds. */
export const ageOf = ({ headers }: Pick<Reply, 'headers'>): number => (Number(headers.age) || 0) * 1_000

/**
 * Returns the milliseconds that a `Retry-After` header (seconds or an HTTP date) asks to wait; `undefined` without
 * one. `now` is real time.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  const seconds = Number(text)
  const ms = Number.isNaN(seconds) ? Date.parse(text) - now : seconds * 1_000
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/**
 * Returns the milliseconds that a reply asks to wait: by `Retry-After`, else by the end of the rate window. `now` is real time.
 */
export const askedWaitMs = (headers: Reply['headers'], now: number): number | undefined =>
  retryAfterMs(headers['retry-after'], now) ?? rateResetMs(headers, now)

/** Returns how long an answer asks to wait; the end of a rate window counts only where the rate is limited. */
export const retryDelayMs = (
  headers: Reply['headers'],
  isLimited: boolean,
  now: number,
): number | undefined => (isLimited ? askedWaitMs(headers, now) : retryAfterMs(headers['retry-after'], now))

/** Numbers from which on the end of a window is a time since 1970, in seconds and in milliseconds. */
const [epochSeconds, epochMs] = [1e9, 1e12]

/** The headers that say when a rate window ends; the standard ones go first. */
const resetHeaders =
  'ratelimit-reset ratelimit x-ratelimit-reset x-rate-limit-reset x-ratelimit-reset-after'.split(' ')

/** A window that ends later says nothing: no server means it. */
const maxResetMs = 366 * dayMs

/**
 * Returns the milliseconds until a rate window ends, as the headers say in one of the ways in use: seconds from now, a time
 * since 1970, a duration or a date, as a plain value, a list or a structured field (`"minute";r=0;t=30`, `limit=9, reset=30`).
 */
export function rateResetMs(headers: Reply['headers'], now: number): number | undefined {
  // The server's clock may be another one.
  const there = Date.parse(headers.date ?? '')
  const read = (name: string) => endOf(headers[name], now, Number.isNaN(there) ? now : there)
  return resetHeaders.map(read).find((ms) => ms !== undefined && ms <= maxResetMs)
}

/** Such as `6m0s`, `1.5s` or `500ms`. */
const written = /^\s*(?=\d)(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d+)?)s)?(?:(\d{1,12})ms)?\s*$/

function endOf(text: string | undefined, now: number, there: number): number | undefined {
  if (text === undefined) return undefined
  const plain = /^\s*(\d{1,16}(?:\.\d+)?)\s*(?:;|$)/.exec(text)?.[1]
  if (plain !== undefined) {
    const end = Number(plain)
    if (end < epochSeconds) return end * 1_000
    return Math.max(0, (end < epochMs ? end * 1_000 : end) - there)
  }
  const duration = written.exec(text)
  if (duration) {
    const [hours = 0, minutes = 0, seconds = 0, ms = 0] = duration.slice(1).map((part) => Number(part ?? 0))
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms
  }
  // A header of each window, or one line of several.
  if (/^[\s\d.,]*,[\s\d.]*$/.test(text))
    return Math.max(...text.split(',').map((one) => endOf(one, now, there) ?? 0))
  // Of several windows, those without a request left are waited for.
  const windows = text.split(',').flatMap((window) => {
    const seconds = /(?:^|[;\s])(?:t|reset)=(\d{1,9})\b/.exec(window)?.[1]
    const isFull = !/;\s*r=(?!0\b)/.test(window)
    return seconds === undefined ? [] : [{ ms: Number(seconds) * 1_000, isFull }]
  })
  const full = windows.filter(({ isFull }) => isFull)
  if (windows.length > 0) return Math.max(...(full.length > 0 ? full : windows).map(({ ms }) => ms))
  return retryAfterMs(text, now)
}

/** What accepted work counts at in the week of a member, until its cost is known. */
export interface WorkHold {
  /** Id of the member. */
  readonly member: string
  readonly credits: number
  /** The week, as its number. */
  readonly week: number
}

/** Work whose results have passed: its cost is the greater one of two. */
export interface FinishedWork {
  readonly id: string
  /** What the last result says. */
  readonly credits: number
  /** Price of each record that passed; 0 where the result says it all. */
  readonly price: number
}

/** Returns an input without the columns of its file. */
export function withoutColumns(input: Input): Input {
  if (!Object.hasOwn(input, columnsField)) return input
  const { [columnsField]: _, ...rest } = input
  return rest
}

/** Passes the columns of rows on beside their requests. */
export const passColumns: Layer = (caller) => ({
  ...caller,
  call: (id, input, options) => {
    const columnsOf = (one: unknown) => (one as Input)[columnsField] as RowColumns | undefined
    if (columnsOf(input)) {
      const own = { ...options, columns: [columnsOf(input)] }
      return caller.call(id, withoutColumns(input), own)
    }
    const { contacts } = input
    if (!Array.isArray(contacts) || !contacts.some((one) => isObject(one) && columnsOf(one)))
      return caller.call(id, input, options)
    const items = contacts.map((one) => withoutColumns(one as Input))
    return caller.call(id, { ...input, contacts: items }, { ...options, columns: contacts.map(columnsOf) })
  },
})

/** Wraps a caller, for example to check keys or to keep to rate limits. */
export type Layer = (caller: Caller) => Caller

/** Wraps a caller in layers, of which the first is the outermost. Layers that are not wanted are `undefined`. */
export const compose = (layers: readonly (Layer | undefined)[], caller: Caller): Caller =>
  layers.reduceRight((inner, layer) => layer?.(inner) ?? inner, caller)
