import type { Clock } from '../api/ports/ports.js'
import { dayMs } from '../api/values/dates.js'
import type { Connection, Driver } from '../storage/driver/connection.js'
import { type Counter, hasCounterAfter, restartCounters } from './tables/counters.js'
import { readClock, type StoredClock } from './tables/members.js'

export const engineTime = (clock: StoredClock, realNow: number) => clock.frozenAt ?? realNow + clock.offsetMs

export const readEngineTime = async (tx: Connection, clock: Clock) =>
  engineTime(await readClock(tx), clock.now())

/** A counting period in UTC. */
export type Period = 'day' | 'week' | 'month'

/** Returns the start of the period that contains a moment: 00:00 UTC of the day, of Monday or of the 1st. */
export function periodStart(period: Period, at: number): number {
  const date = new Date(at)
  const day = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
  if (period === 'day') return day
  if (period === 'week') return day - ((date.getUTCDay() + 6) % 7) * dayMs
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/** Returns the start of the next period. */
export const periodEnd = (period: Period, at: number) => onePeriodAfter(period, periodStart(period, at))

function onePeriodAfter(period: Period, start: number): number {
  if (period === 'day') return start + dayMs
  if (period === 'week') return start + 7 * dayMs
  const date = new Date(start)
  const month = date.getUTCMonth()
  date.setUTCMonth(month + 1)
  // The 31st has no counterpart in every month: the last day takes its place.
  if (date.getUTCMonth() !== (month + 1) % 12) date.setUTCDate(0)
  return date.getTime()
}

/** A count, and the window or period it applies to. */
export interface CounterState extends Counter {
  readonly resetsAt: number
}

/** How long a counter counts: a rate window begins with its first request, a period where the calendar says. */
type CounterSpan = { readonly windowMs: number } | { readonly period: Period }

/**
 * Returns a counter as of `now`. One whose time is over is empty. One that began in the future, because the clock went
 * back, keeps its count, begins now and lasts its full length (decision 18).
 */
export function countedAt(counter: Counter | undefined, span: CounterSpan, now: number): CounterState {
  const isWindow = 'windowMs' in span
  const endOf = (start: number) => (isWindow ? start + span.windowMs : onePeriodAfter(span.period, start))
  const counted = (started_at: number, count: number) => ({ started_at, count, resetsAt: endOf(started_at) })
  if (counter && counter.started_at > now) return counted(now, counter.count)
  if (counter && now < endOf(counter.started_at)) return counted(counter.started_at, counter.count)
  return counted(isWindow ? now : periodStart(span.period, now), 0)
}

/**
 * Lets every counter that began in the future begin now, so that what is left of its time decreases from now on. Returns
 * at once when there is none, which is always so unless the clock went back.
 */
export async function settleCounters(store: Pick<Driver, 'read' | 'transaction'>, now: number) {
  if (await store.read((tx) => hasCounterAfter(tx, now)))
    await store.transaction((tx) => restartCounters(tx, now))
}

/** A step back of less than this is the clock being set right. */
const toleranceMs = 1_000

/** Notices when the clock goes back, and settles the counters then; also at the first request, as it may have before. */
export function createClockWatch(store: Pick<Driver, 'read' | 'transaction'>) {
  let latest = Number.POSITIVE_INFINITY
  let settling: Promise<void> | undefined
  return (now: number): Promise<void> | undefined => {
    if (now >= latest - toleranceMs) {
      latest = Math.max(latest, now)
      return settling
    }
    latest = now
    settling = settleCounters(store, now).finally(() => {
      settling = undefined
    })
    return settling
  }
}

/** Returns the first renewal after a moment: 00:00 UTC of the day of the month of its creation, at most the 28th. */
export function nextRenewal(createdAt: number, after: number): number {
  const date = new Date(after)
  const day = Math.min(new Date(createdAt).getUTCDate(), 28)
  const renewal = (month: number) => Date.UTC(date.getUTCFullYear(), month, day)
  const thisMonth = renewal(date.getUTCMonth())
  return thisMonth > after ? thisMonth : renewal(date.getUTCMonth() + 1)
}

/** Returns the clock that all processes of a store share, even when a machine's own clock is wrong. */
export const sharedClock = ({ aheadMs }: Pick<Driver, 'aheadMs'>, clock: Clock): Clock =>
  aheadMs ? { now: () => clock.now() + aheadMs() } : clock

const defaultLeaseMs = 30_000

/** Returns how long a lease lasts without a heartbeat, in real time. */
export const leaseMsOf = ({ leaseMs = defaultLeaseMs }: { readonly leaseMs?: number }): number => leaseMs

/** Renews work from time to time. A missed heartbeat is no failure: the fencing token decides what is stored. */
export const startHeartbeat = (everyMs: number, beat: () => Promise<unknown>): NodeJS.Timeout =>
  setInterval(() => void beat().catch(() => undefined), everyMs).unref()
