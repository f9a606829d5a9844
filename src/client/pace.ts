import type { Reply } from '../api/calls/caller.js'
import type { Window } from '../api/operations/windows.js'

/** A rate window of a server, as this machine knows it. */
export interface PacedWindow {
  /**
   * End in real time. It is not before the end of the server's own window, which begins when a request arrives.
   */
  readonly endsAt: number
  /** Requests admitted in it. */
  readonly count: number
  /** The limit the server reported; null when it has reported none and the plan's limit holds. */
  readonly most: number | null
  /** Whether the server has answered in it, so that its own window has begun. */
  readonly confirmed: boolean
}

/** A window to keep to. Without a plan its limit is unknown until the server reports it. */
export type WindowKept = Omit<Window, 'limit'> & { readonly limit: number | undefined }

type KnownWindow = PacedWindow | undefined

/** How long the first reply of a window may take. A busy machine gets it late, a killed process never. */
const firstReplyMs = 10_000

/** Returns the window for a request at `now`. A limit that the server reported outlives the window. */
function current({ windowMs }: WindowKept, known: KnownWindow, now: number): PacedWindow {
  if (known !== undefined && known.endsAt > now) return known
  return { endsAt: latestEnd(windowMs, now), count: 0, most: known?.most ?? null, confirmed: false }
}

const latestEnd = (windowMs: number, now: number): number => now + windowMs + firstReplyMs

/**
 * Returns the windows with ends that can be right. A later end than the window's length means that the clock went back:
 * the window begins now and keeps its count.
 */
export const settleWindows = (
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  now: number,
): readonly KnownWindow[] =>
  known.map((one, at) => {
    const latest = latestEnd(windows[at]?.windowMs ?? 0, now)
    return one && one.endsAt > latest ? { ...one, endsAt: latest } : one
  })

/** Returns how long to wait for a full window. One that may end with any reply is checked again soon. */
function waitFor({ endsAt, confirmed }: PacedWindow, now: number): number {
  const left = endsAt - now
  if (confirmed) return left
  return left > firstReplyMs ? left - firstReplyMs : Math.min(left, askingMs)
}

/** `RateLimit-Reset` is in whole seconds, rounded up. */
const roundingMs = 1_000

/** Maximum difference between the clocks of a server's nodes, rounding included. */
const clocksMs = 5

const limitOf = ({ limit }: WindowKept, { most }: PacedWindow): number =>
  most ?? limit ?? Number.POSITIVE_INFINITY

/** Replaces the limit when a server answered without reporting one. */
const untold = Number.MAX_SAFE_INTEGER

/** Whether the limit of a window is unknown until the server is asked. */
const isUnknown = ({ limit }: WindowKept, known: KnownWindow): boolean =>
  limit === undefined && (known?.most ?? null) === null

/** How long a request waits for the reply that reports the limit, before it checks again. */
const askingMs = 50

/** The windows after counting an admitted request, or how long to wait, with the limit when it is known. */
export type PacingDecision = { readonly admitted: readonly PacedWindow[] } | WindowWait

interface WindowWait {
  readonly waitMs: number
  readonly limit: number | undefined
}

/**
 * Whether the server's window may end before a request arrives. That request would begin the next window unnoticed.
 */
const isEnding = ({ windowMs }: WindowKept, { endsAt, confirmed, most }: PacedWindow, now: number): boolean =>
  confirmed && most !== null && endsAt - now < Math.min(windowMs / 10, roundingMs)

/**
 * Admits a request that fits in all its windows. Where a limit is unknown, one request is admitted to ask for it.
 */
export function admit(
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  now: number,
): PacingDecision {
  const found = windows.map((window, at) => current(window, known[at], now))
  const waits = found.flatMap((one, at): WindowWait[] => {
    const window = windows[at] as WindowKept
    const left = one.endsAt - now
    if (isUnknown(window, one))
      return one.count === 0 ? [] : [{ waitMs: Math.min(askingMs, left), limit: undefined }]
    const isFull = one.count >= limitOf(window, one) || isEnding(window, one, now)
    return isFull ? [{ waitMs: waitFor(one, now), limit: limitOf(window, one) }] : []
  })
  const [longest] = waits.sort((one, other) => other.waitMs - one.waitMs)
  return longest ?? { admitted: found.map((one) => ({ ...one, count: one.count + 1 })) }
}

/** What a server reports about the window with the fewest remaining requests. */
interface Said {
  readonly limit: number
  readonly remaining: number
  readonly endsAt: number
  /** Whether the server reported the end in milliseconds. */
  readonly isExact: boolean
}

function saidBy({ status, headers }: Reply, waitMs: number | undefined, now: number): Said | undefined {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    wholeIn(headers[`ratelimit-${name}`]),
  )
  if (limit === undefined || remaining === undefined) return undefined
  const resetMs = reset === undefined ? undefined : reset * 1_000
  if (status === 429) {
    const endMs = Math.max(waitMs ?? 0, resetMs ?? 0)
    return { limit, remaining: 0, endsAt: now + endMs, isExact: false }
  }
  if (resetMs === undefined) return undefined
  const exactMs = exactReset(headers['x-ratelimit-reset-after'], resetMs)
  return { limit, remaining, endsAt: now + (exactMs ?? resetMs), isExact: exactMs !== undefined }
}

/**
 * Returns the fractional seconds that some servers add, in milliseconds; `undefined` when they do not match the rounded
 * value.
 */
function exactReset(text: string | undefined, resetMs: number): number | undefined {
  if (text === undefined || !/^\d{1,9}\.\d{3,6}$/.test(text)) return undefined
  const exactMs = Math.ceil(Number(text) * 1_000)
  const isRounded = exactMs <= resetMs && exactMs >= resetMs - roundingMs
  return isRounded ? Math.min(exactMs + clocksMs, resetMs) : undefined
}

function wholeIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined
}

/**
 * Returns the windows after a reply. A reported count replaces the local one, and unreported windows are not waited
 * for.
 */
export function corrected(
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  reply: Reply,
  waitMs: number | undefined,
  now: number,
): readonly KnownWindow[] {
  const said = saidBy(reply, waitMs, now)
  const reported = said && findReportedWindow(windows, known, said, now)
  return known.map((one, at) => {
    const window = windows[at] as WindowKept
    if (said && at === reported) return correct(window, current(window, one, now), said)
    const begun = one && begunBy(window, one, now, reply.status < 500)
    return begun && isUnknown(window, begun) ? { ...begun, most: untold } : begun
  })
}

/** Returns the windows after a request without a reply. The next request may ask for their limits. */
export const unanswered = (
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  now: number,
): readonly KnownWindow[] =>
  known.map((one, at) => {
    const window = windows[at] as WindowKept
    const begun = one && begunBy(window, one, now, false)
    return begun && isUnknown(window, begun) ? { ...begun, count: 0 } : begun
  })

/** Returns a window in which a request ended. If it was counted, the server's window has begun by now. */
const begunBy = (
  { windowMs }: WindowKept,
  known: PacedWindow,
  now: number,
  isCounted: boolean,
): PacedWindow =>
  known.confirmed ? known : { ...known, endsAt: Math.min(known.endsAt, now + windowMs), confirmed: isCounted }

function correct(
  { windowMs }: WindowKept,
  found: PacedWindow,
  { limit, remaining, endsAt, isExact }: Said,
): PacedWindow {
  const used = Math.max(0, limit - remaining)
  // The server has begun a new window, so the known one had ended.
  const isNew = found.confirmed && endsAt > found.endsAt + (isExact ? windowMs / 2 : roundingMs)
  const count = isNew ? used : Math.max(found.count, used)
  // Every reset is rounded up or late, so the earliest reported end is the most accurate.
  const end = found.confirmed && !isNew ? Math.min(found.endsAt, endsAt) : endsAt
  return { endsAt: end, count, most: limit, confirmed: true }
}

/**
 * Returns the index of the window a server reports: the one with that limit, else the shortest that can end that late.
 */
function findReportedWindow(
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  { limit, endsAt }: Said,
  now: number,
): number | undefined {
  if (windows.length < 2) return windows.length === 0 ? undefined : 0
  const named = windows.findIndex((window, at) => (known[at]?.most ?? window.limit) === limit)
  if (named >= 0) return named
  const lasting = windows
    .map(({ windowMs }, at) => ({ windowMs, at }))
    .filter(({ windowMs }) => endsAt - now <= windowMs + roundingMs)
    .sort((one, other) => one.windowMs - other.windowMs)
  return lasting[0]?.at
}
