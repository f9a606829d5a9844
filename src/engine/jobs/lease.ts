import type { Clock, Lease } from '../ports/ports.js'

const usualLeaseMs = 30_000

/** Returns how long a lease lasts without a heartbeat, in real time. */
export const leaseMsOf = ({ leaseMs = usualLeaseMs }: { readonly leaseMs?: number }): number => leaseMs

/** Returns a lease that begins now. */
export function leaseFrom(ports: { readonly clock: Clock; readonly leaseMs?: number }): Lease {
  const realNow = ports.clock.now()
  return { realNow, leaseUntil: realNow + leaseMsOf(ports) }
}
