import { createHash } from 'node:crypto'
import { askedWaitMs, type Input, type Layer, type Reply, rateResetMs } from '../api/calls/caller.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import { fails, isLimited } from '../api/calls/retry.js'
import { countingOf } from '../api/operations/facts.js'
import { type Window, windowsOf } from '../api/operations/plans.js'
import { type Operation, operation } from '../api/operations/table.js'
import type { Clock } from '../api/ports/ports.js'
import type { ServerMemory, ServerWindow } from '../storage/state/remote-servers.js'

export interface PacedOptions {
  readonly windows: Pick<ServerMemory, 'change'>
  readonly origin: string
  /** Real time. */
  readonly clock: Clock
  /** The caller's plan. Without it, limits are learnt from the server. */
  readonly plan?: string | undefined
  /** Whether to keep to limits that were observed and are not specified. */
  readonly observed?: boolean | undefined
}

/** Keeps to the rate windows of a server. A request over a limit is not sent, but answered 429 here. */
export const paced =
  (options: PacedOptions): Layer =>
  (caller) => ({
    ...caller,
    refusedNow: async (id, call, input) => {
      const row = operation(id)
      const isOpen = countingOf(row).isChosenByLive && input === undefined
      const windows = isOpen ? [] : keptTo(row, input ?? {}, options)
      if (windows.length === 0) return undefined
      return refusal(row, ownerOf(options.origin, call?.apiKey), windows, options, false)
    },
    call: async (id, input, call) => {
      const row = operation(id)
      const windows = keptTo(row, input, options)
      if (windows.length === 0) return caller.call(id, input, call)
      const owner = ownerOf(options.origin, call?.apiKey)
      const refused = await refusal(row, owner, windows, options)
      if (refused) return refused
      const reply = await caller.call(id, input, call).catch(async (error: unknown) => {
        await learn(owner, windows, undefined, options)
        throw error
      })
      await learn(owner, windows, reply, options)
      return reply
    },
  })

/** The longest wait that is hidden from the caller, and the longest total wait of a request, in milliseconds. */
const briefMs = 1_000
const mostHeldMs = 10_000

/**
 * Waits here where a rate window refuses a request for no more than a second: at its end the server may have begun the next
 * one, and who asks would be refused what the server takes. The server's own 429 passes as it is.
 */
export const holdBriefly =
  ({ clock, sleep }: { readonly clock: Clock; readonly sleep: (ms: number) => Promise<void> }): Layer =>
  (caller) => {
    const isBrief = ({ waitMs = Number.POSITIVE_INFINITY }: Reply) => waitMs <= briefMs
    return {
      ...caller,
      refusedNow: async (id, call, input) => {
        const refused = await caller.refusedNow?.(id, call, input)
        return refused && isBrief(refused) ? undefined : refused
      },
      call: async (id, input, call) => {
        for (const until = clock.now() + mostHeldMs; ; ) {
          const reply = await caller.call(id, input, call)
          if (!isBrief(reply) || clock.now() > until || call?.signal?.aborted) return reply
          // A timer may end a little early.
          await sleep((reply.waitMs ?? 0) + 1)
        }
      },
    }
  }

/** Returns the owner of rate windows: the origin and a digest of the key. */
export const ownerOf = (origin: string, apiKey = ''): string =>
  `${origin} ${createHash('sha256').update(apiKey).digest('hex').slice(0, 16)}`

function keptTo(row: Operation, { live }: Input, { plan, observed }: PacedOptions): WindowKept[] {
  const isOfPlan = ({ name }: { readonly name: string }) => name.startsWith('plan:')
  return windowsOf(row, plan ?? '', live, observed).map((window) =>
    plan === undefined && isOfPlan(window) ? { ...window, limit: undefined } : window,
  )
}

const namesOf = (windows: readonly WindowKept[]): string[] => windows.map(({ name }) => name)

/** Returns the 429 of a request over a limit; `undefined` when it is admitted, and counted unless it is only a question. */
async function refusal(
  row: Operation,
  owner: string,
  windows: readonly WindowKept[],
  { windows: store, clock }: PacedOptions,
  counts = true,
): Promise<Reply | undefined> {
  const admission = await store.change(owner, namesOf(windows), (stored) => {
    const now = clock.now()
    const known = settleWindows(windows, stored, now)
    const answer = admit(windows, known, now)
    return { keep: counts && 'admitted' in answer ? answer.admitted : known, answer }
  })
  if ('admitted' in admission) return undefined
  const { waitMs, limit } = admission
  const seconds = String(Math.max(1, Math.ceil(waitMs / 1_000)))
  const told = { 'ratelimit-limit': String(limit), 'ratelimit-remaining': '0', 'ratelimit-reset': seconds }
  return {
    status: 429,
    body: errorBody(new ApiError('rate_limited'), row),
    headers: { ...(limit === undefined ? {} : told), 'retry-after': seconds },
    credits: 0,
    waitMs,
  }
}

/** Stores what a reply reports about the windows. The reply is returned even when storing fails. */
async function learn(
  owner: string,
  windows: readonly WindowKept[],
  reply: Reply | undefined,
  { windows: store, clock }: PacedOptions,
): Promise<void> {
  // The report is true now, not when it can be stored.
  const now = clock.now()
  const waitMs = reply && askedWaitMs(reply.headers, now)
  const learnt = store.change(owner, namesOf(windows), (stored) => ({
    keep: corrected(windows, settleWindows(windows, stored, now), reply, waitMs, now),
    answer: undefined,
  }))
  await learnt.catch(() => {})
}

/** A window to keep to. Without a plan its limit is unknown until the server reports it. */
type WindowKept = Omit<Window, 'limit'> & { readonly limit: number | undefined }

type KnownWindow = ServerWindow | undefined

/** How long the first reply of a window may take. A busy machine gets it late, a killed process never. */
const firstReplyMs = 10_000

/**
 * Returns the window for a request at `now`. A limit that the server reported outlives the window; one that was asked for is
 * only waited for as long as the first reply may take.
 */
function current(window: WindowKept, known: KnownWindow, now: number): ServerWindow {
  if (known !== undefined && known.endsAt > (isUnknown(window, known) ? now + window.windowMs : now))
    return known
  return { endsAt: latestEnd(window.windowMs, now), count: 0, most: known?.most ?? null, confirmed: false }
}

const latestEnd = (windowMs: number, now: number): number => now + windowMs + firstReplyMs

/** Returns windows with ends that can be right: one that lasts too long, because the clock went back, begins now. */
const settleWindows = (windows: readonly WindowKept[], known: readonly KnownWindow[], now: number) =>
  known.map((one, at) => {
    const latest = latestEnd(windows[at]?.windowMs ?? 0, now)
    return one && one.endsAt > latest ? { ...one, endsAt: latest } : one
  })

/** Returns how long to wait for a full window. One that may end with any reply is checked again soon. */
function waitFor({ endsAt, confirmed }: ServerWindow, now: number): number {
  const left = endsAt - now
  if (confirmed) return left
  return left > firstReplyMs ? left - firstReplyMs : Math.min(left, askingMs)
}

/** `RateLimit-Reset` is in whole seconds, rounded up. */
const roundingMs = 1_000

/** Maximum difference between the clocks of a server's nodes, rounding included (decision 18). */
const clocksMs = 5

const limitOf = ({ limit }: WindowKept, { most }: ServerWindow): number =>
  most ?? limit ?? Number.POSITIVE_INFINITY

/** Replaces the limit when a server answered without reporting one. */
export const unreportedLimit = Number.MAX_SAFE_INTEGER

/** Whether the limit of a window is unknown until the server is asked. */
const isUnknown = ({ limit }: WindowKept, known: KnownWindow): boolean =>
  limit === undefined && (known?.most ?? null) === null

/** How long a request waits for the reply that reports the limit, before it checks again. */
const askingMs = 50

/** Whether the server's window may end before a request arrives, which would begin the next window unnoticed. */
const isEnding = (
  { windowMs }: WindowKept,
  { endsAt, confirmed, most }: ServerWindow,
  now: number,
): boolean => confirmed && most !== null && endsAt - now < Math.min(windowMs / 10, roundingMs)

/** Admits a request that fits in all its windows. Where a limit is unknown, one request is admitted to ask for it. */
function admit(windows: readonly WindowKept[], known: readonly KnownWindow[], now: number) {
  const found = windows.map((window, at) => current(window, known[at], now))
  const waits = found.flatMap((one, at): { waitMs: number; limit: number | undefined }[] => {
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

type Said = NonNullable<ReturnType<typeof saidBy>>

/** Returns what a server reports about the window with the fewest remaining requests. */
function saidBy({ status, headers }: Reply, waitMs: number | undefined, now: number) {
  const [limit, remaining] = ['limit', 'remaining'].map((name) => wholeIn(headers[`ratelimit-${name}`]))
  if (limit === undefined || remaining === undefined) return undefined
  const resetMs = rateResetMs(headers, now)
  if (isLimited({ status })) {
    const endMs = Math.max(waitMs ?? 0, resetMs ?? 0)
    return { limit, remaining: 0, endsAt: now + endMs, isExact: false }
  }
  if (resetMs === undefined) return undefined
  const exactMs = exactReset(headers['x-ratelimit-reset-after'], resetMs)
  return {
    limit,
    remaining,
    endsAt: now + (exactMs ?? resetMs),
    /** Whether the server reported the end in milliseconds. */
    isExact: exactMs !== undefined,
  }
}

/** Returns the fractional seconds that some servers add, in milliseconds; `undefined` when they are not those rounded. */
function exactReset(text: string | undefined, resetMs: number): number | undefined {
  if (text === undefined || !/^\d{1,9}\.\d{3,6}$/.test(text)) return undefined
  const exactMs = Math.ceil(Number(text) * 1_000)
  const isRounded = exactMs <= resetMs && exactMs >= resetMs - roundingMs
  return isRounded ? Math.min(exactMs + clocksMs, resetMs) : undefined
}

function wholeIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined
}

/** Returns the windows after a request. A reported count replaces the local one; unreported windows are not waited for. */
export function corrected(
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  reply: Reply | undefined,
  waitMs: number | undefined,
  now: number,
): readonly KnownWindow[] {
  const said = reply && saidBy(reply, waitMs, now)
  const reported = said && findReportedWindow(windows, known, said, now)
  return known.map((one, at) => {
    const window = windows[at] as WindowKept
    if (said && at === reported) return correct(window, current(window, one, now), said)
    if (!one) return one
    // If the request was counted, the server's window has begun by now.
    const isCounted = reply !== undefined && !fails(reply)
    const endsAt = Math.min(one.endsAt, now + window.windowMs)
    const begun = one.confirmed ? one : { ...one, endsAt, confirmed: isCounted }
    if (!isUnknown(window, begun)) return begun
    // After a request without a reply, the next one may ask for the limit.
    return reply ? { ...begun, most: unreportedLimit } : { ...begun, count: 0 }
  })
}

function correct(
  { windowMs }: WindowKept,
  found: ServerWindow,
  { limit, remaining, endsAt, isExact }: Said,
): ServerWindow {
  const used = Math.max(0, limit - remaining)
  // The server has begun a new window, so the known one had ended.
  const isNew = found.confirmed && endsAt > found.endsAt + (isExact ? windowMs / 2 : roundingMs)
  const count = isNew ? used : Math.max(found.count, used)
  // Every reset is rounded up or late, so the earliest reported end is the most accurate.
  const end = found.confirmed && !isNew ? Math.min(found.endsAt, endsAt) : endsAt
  return { endsAt: end, count, most: limit, confirmed: true }
}

/** Returns the index of the reported window: the one with that limit, else the shortest that can end that late. */
function findReportedWindow(
  windows: readonly WindowKept[],
  known: readonly KnownWindow[],
  { limit, endsAt }: Said,
  now: number,
): number | undefined {
  if (windows.length < 2) return windows.length === 0 ? undefined : 0
  const named = windows.findIndex((window, at) => (known[at]?.most ?? window.limit) === limit)
  if (named >= 0) return named
  const [shortest] = windows
    .filter(({ windowMs }) => endsAt - now <= windowMs + roundingMs)
    .sort((one, other) => one.windowMs - other.windowMs)
  return shortest && windows.indexOf(shortest)
}
