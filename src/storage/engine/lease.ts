import type { Lease } from '../../engine/ports/ports.js'

/**
 * Whether nobody has a row of work. A lease that lasts longer than two of now was taken before the clock went back:
 * whoever has it, if anybody, finds that out by the token.
 */
export const freeSql = '(lease_until <= ? OR lease_until > ?)'

/** The values of `freeSql`. */
export const freeAt = ({ realNow, leaseUntil }: Lease): [number, number] => [
  realNow,
  realNow + 2 * (leaseUntil - realNow),
]
