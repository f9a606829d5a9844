import type { Found } from '../../engine/ports/ports.js'

/** What rows are ordered by, of one of them. */
export type Position = readonly (string | number | null)[]

/** Reads the place where the part before ended. */
export const readPosition = <P extends Position>(after: string | undefined): P | undefined =>
  after === undefined ? undefined : (JSON.parse(after) as P)

/** The first `limit` of some rows; where there are more, the next part begins behind the last of them. */
export function partOf<T>(rows: readonly T[], limit: number, position: (row: T) => Position): Found<T> {
  const records = rows.slice(0, limit)
  const last = records.at(-1)
  return rows.length > limit && last !== undefined
    ? { records, next: JSON.stringify(position(last)) }
    : { records }
}
