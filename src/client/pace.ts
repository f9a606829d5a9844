import type { Reply } from '../api/calls/caller.js'
import type { Window } from '../api/operations/windows.js'

/** A window of a server's as this machine knows it. */
export interface PacedWindow {
  /** When it ends, in real time: not before the server's own, which begins when a request is there. */
  readonly endsAt: number
  /** Requests that were let through in it. */
  readonly count: number
  /** Most requests, as the server says; null where it has not said it, and the plan's holds. */
  readonly most: number | null
  /** Whether the server has answered in it, and so has begun it. */
  readonly confirmed: boolean
}

/** A window to keep to; without a plan its limit is not known before the server says it. */
export type WindowKept = Omit<Window, 'limit'> & { readonly limit: number | undefined }

type Known = PacedWindow | undefined

/** How long the first reply of a window may take: it comes late from a busy machine, and never to a killed process. */
const firstReplyMs = 10_000

/** The window as a request at `now` finds it: what the server said of its limit outlives it. */
function current({ windowMs }: WindowKept, known: Known, now: number): PacedWindow {
  const latest = now + windowMs + firstReplyMs
  // One that ends later than a window lasts is of a clock that has gone back since.
  if (known !== undefined && known.endsAt > now && known.endsAt <= latest) return known
  return { endsAt: latest, count: 0, most: known?.most ?? null, confirmed: false }
}

/** How long a window that nothing more fits into is waited for; one that may end with any reply is looked at again soon. */
function waitFor({ endsAt, confirmed }: PacedWindow, now: number): number {
  const left = endsAt - now
  if (confirmed) return left
  return left > firstReplyMs ? left - firstReplyMs : Math.min(left, askingMs)
}

/** `RateLimit-Reset` is in whole seconds, rounded up. */
const roundingMs = 1_000

/** What clocks of several nodes of a server may differ by, and that of one by rounding. */
const clocksMs = 5

const limitOf = ({ limit }: WindowKept, { most }: PacedWindow): number =>
  most ?? limit ?? Number.POSITIVE_INFINITY

/** In place of a limit where a server has answered and told none. */
const untold = Number.MAX_SAFE_INTEGER

/** Whether nobody knows the limit of a window before the server is asked. */
const isUnknown = ({ limit }: WindowKept, known: Known): boolean =>
  limit === undefined && (known?.most ?? null) === null

/** How long a request waits for the reply to the one that asks for the limit, before it looks again. */
const askingMs = 50

/** Whether a request may be sent: what is then counted, or for how long not, and the limit if that is known. */
export type Admission = { readonly admitted: readonly PacedWindow[] } | Wait

interface Wait {
  readonly waitMs: number
  readonly limit: number | undefined
}

/**
 * Whether the server's window may end before a request is there. It would open the next one unseen, in which others are
 * counted later.
 */
const isEnding = ({ windowMs }: WindowKept, { endsAt, confirmed, most }: PacedWindow, now: number): boolean =>
  confirmed && most !== null && endsAt - now < Math.min(windowMs / 10, roundingMs)

/** Lets a request through where it fits in all its windows; where a limit is not known, one that asks for it. */
export function admit(windows: readonly WindowKept[], known: readonly Known[], now: number): Admission {
  const found = windows.map((window, at) => current(window, known[at], now))
  const waits = found.flatMap((one, at): Wait[] => {
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

/** What a server says of the window with the least remaining. */
interface Said {
  readonly limit: number
  readonly remaining: number
  readonly endsAt: number
  /** Whether it said to the millisecond when the window ends. */
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

/** The seconds with decimals that some servers add, where they are what was rounded up; in milliseconds. */
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
 * The windows after a reply: what the server says of one of them wins over what was counted here, and what it says
 * nothing of is not waited for.
 */
export function corrected(
  windows: readonly WindowKept[],
  known: readonly Known[],
  reply: Reply,
  waitMs: number | undefined,
  now: number,
): readonly Known[] {
  const said = saidBy(reply, waitMs, now)
  const meant = said && meantBy(windows, known, said, now)
  return known.map((one, at) => {
    const window = windows[at] as WindowKept
    if (said && at === meant) return correct(window, current(window, one, now), said)
    const begun = one && begunBy(window, one, now, reply.status < 500)
    return begun && isUnknown(window, begun) ? { ...begun, most: untold } : begun
  })
}

/** The windows after a request without a reply: the next one may ask for their limits. */
export const unanswered = (
  windows: readonly WindowKept[],
  known: readonly Known[],
  now: number,
): readonly Known[] =>
  known.map((one, at) => {
    const window = windows[at] as WindowKept
    const begun = one && begunBy(window, one, now, false)
    return begun && isUnknown(window, begun) ? { ...begun, count: 0 } : begun
  })

/** A window in which a request has ended: if that was counted, the server's has begun by now. */
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
  // The server has begun a new window: the one that is known had ended there already.
  const isNew = found.confirmed && endsAt > found.endsAt + (isExact ? windowMs / 2 : roundingMs)
  const count = isNew ? used : Math.max(found.count, used)
  // Each reset is rounded up, or comes late, so that the earliest end that was told is the truest.
  const end = found.confirmed && !isNew ? Math.min(found.endsAt, endsAt) : endsAt
  return { endsAt: end, count, most: limit, confirmed: true }
}

/** Which window a server speaks of: the one with that limit, else the shortest that could end so late. */
function meantBy(
  windows: readonly WindowKept[],
  known: readonly Known[],
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
