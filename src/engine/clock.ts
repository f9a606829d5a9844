import type { Clock, Lease, Store, StoredClock } from './ports/ports.js'

const dayMs = 86_400_000

/** Returns engine time at a moment of real time. */
export const engineTime = (clock: StoredClock, realNow: number): number =>
  clock.frozenAt ?? realNow + clock.offsetMs

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
export function periodEnd(period: Period, at: number): number {
  const start = periodStart(period, at)
  if (period === 'day') return start + dayMs
  if (period === 'week') return start + 7 * dayMs
  const date = new Date(start)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** Day of the month on which a workspace renews: that of its creation, at most 28. */
const renewalDay = (createdAt: number): number => Math.min(new Date(createdAt).getUTCDate(), 28)

/** Returns the first renewal (00:00 UTC of the renewal day) after a moment. */
export function nextRenewal(createdAt: number, after: number): number {
  const date = new Date(after)
  const renewal = (month: number) => Date.UTC(date.getUTCFullYear(), month, renewalDay(createdAt))
  const thisMonth = renewal(date.getUTCMonth())
  return thisMonth > after ? thisMonth : renewal(date.getUTCMonth() + 1)
}

/** Returns the clock that all processes of a store share, even when a machine's own clock is wrong. */
export const sharedClock = (store: Pick<Store, 'aheadMs'>, clock: Clock): Clock => ({
  now: () => clock.now() + store.aheadMs(),
})

const usualLeaseMs = 30_000

/** Returns how long a lease lasts without a heartbeat, in real time. */
export const leaseMsOf = ({ leaseMs = usualLeaseMs }: { readonly leaseMs?: number }): number => leaseMs

/** Returns a lease that begins now. */
export function leaseFrom(ports: { readonly clock: Clock; readonly leaseMs?: number }): Lease {
  const realNow = ports.clock.now()
  return { realNow, leaseUntil: realNow + leaseMsOf(ports) }
}
