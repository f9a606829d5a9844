import type { Connection } from '../../storage/driver/connection.js'
import { isMobile } from '../normalize/phone.js'

interface PhoneRow {
  readonly number: string
  /** Null when unknown; then a mobile number counts as reachable. */
  readonly messenger: number | null
}

const lines = 'SELECT number, messenger FROM phones WHERE number IN (SELECT value FROM json_each(?))'

/** Returns the E.164 numbers that a messaging app reaches, as far as the catalogue knows. */
export async function findReachable(
  connection: Connection,
  numbers: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = await connection.all<PhoneRow>(lines, JSON.stringify(numbers))
  const reached = known.filter(({ number, messenger }) =>
    messenger === null ? isMobile(number) : messenger === 1,
  )
  return new Set(reached.map(({ number }) => number))
}
