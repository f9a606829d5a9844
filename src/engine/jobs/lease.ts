import type { Clock, Lease } from '../ports/ports.js'

const usualLeaseMs = 30_000

/** How long work belongs to whoever took it up without a sign of life, in real time. */
export const leaseMsOf = ({ leaseMs = usualLeaseMs }: { readonly leaseMs?: number }): number => leaseMs

/** A lease that begins now. */
export function leaseFrom(ports: { readonly clock: Clock; readonly leaseMs?: number }): Lease {
  const realNow = ports.clock.now()
  return { realNow, leaseUntil: realNow + leaseMsOf(ports) }
}
