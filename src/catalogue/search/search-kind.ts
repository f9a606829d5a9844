import type { PageRequest, RecordOf, ResultPage, Searches, SearchKind } from '../../api/ports/ports.js'
import type { Awaitable } from '../../api/values/objects.js'
import type { Connection } from '../../storage/driver/connection.js'

/** Answers one kind of search from the catalogue. 422 names an unsupported filter. */
export interface Searcher<K extends SearchKind> {
  /** Returns how many records match; days count up to `now`. */
  count(connection: Connection, filters: Searches[K]['filters'], now: number): Awaitable<number>
  /** Returns a page of them, always in the same order. */
  find(
    connection: Connection,
    filters: Searches[K]['filters'],
    span: PageRequest,
  ): Awaitable<ResultPage<RecordOf<K>>>
}

/** The values that a row is ordered by. */
export type Cursor = readonly (string | number | null)[]

/** Returns the cursor at which the previous page ended. */
export const parseCursor = <P extends Cursor>(after: string | undefined): P | undefined =>
  after === undefined ? undefined : (JSON.parse(after) as P)

/** Reads rows from consecutive ranges, each of which an index finds directly, until there is one more than a page holds. */
export async function readRanges<Range, T>(
  ranges: readonly Range[],
  limit: number,
  read: (range: Range, limit: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const rows: T[] = []
  for (const range of ranges)
    if (rows.length <= limit) rows.push(...(await read(range, limit + 1 - rows.length)))
  return rows
}

/** Returns the records of the first `limit` rows, with a cursor for the next page when there are more. */
export function toPage<T, R>(
  rows: readonly T[],
  limit: number,
  position: (row: T) => Cursor,
  toRecord: (row: T) => R,
): ResultPage<R> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last !== undefined ? { next: JSON.stringify(position(last)) } : {}
  return { records: shown.map(toRecord), ...next }
}
