/** How long work is leased to the process that takes it now, without a heartbeat; real time. */
export interface Lease {
  readonly realNow: number
  readonly leaseUntil: number
}

/** The condition that the lease of a row is free. One that lasts longer than a new one was taken before the clock went back. */
export const freeSql = '(lease_until <= ? OR lease_until > ?)'

/** Returns the values of `freeSql`. */
export const freeValues = ({ realNow, leaseUntil }: Lease): [number, number] => [
  realNow,
  realNow + 2 * (leaseUntil - realNow),
]
