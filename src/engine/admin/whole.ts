import { AdminError } from './error.js'

/** Refuses what is not a whole number of at least `least`. */
export function checkWhole(value: number, what: string, least = 0): void {
  if (!Number.isSafeInteger(value) || value < least || value > 1_000_000_000)
    throw new AdminError(`${what} must be a whole number from ${least} to 1,000,000,000`)
}
