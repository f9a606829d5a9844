import type { Connection } from '../../storage/driver/connection.js'
import { isMobile } from '../normalize/phone.js'

interface Line {
  readonly number: string
  /** Null where nobody said: then a mobile number is taken to be reachable. */
  readonly messenger: number | null
}

const lines = 'SELECT number, messenger FROM phones WHERE number IN (SELECT value FROM json_each(?))'

/** Those of the numbers in E.164 that the catalogue says a messaging app reaches; one it does not know is not. */
export async function findReachable(
  connection: Connection,
  numbers: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = await connection.all<Line>(lines, JSON.stringify(numbers))
  const reached = known.filter(({ number, messenger }) =>
    messenger === null ? isMobile(number) : messenger === 1,
  )
  return new Set(reached.map(({ number }) => number))
}
