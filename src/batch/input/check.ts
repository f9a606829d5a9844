import { ApiError } from '../../api/calls/errors.js'
import { hashOf, RepeatFilter } from '../../csv/identity-filter.js'
import type { Row } from '../../csv/parse.js'
import type { Table } from './read.js'

/** What one pass over a whole file has found. */
export interface Check {
  readonly rows: number
  /** Rows with more or fewer cells than the header. */
  readonly ragged: number
  /** Line of the first of them. */
  readonly firstRagged: number | undefined
  /** Rows that are not looked up, because the input has what is asked for. */
  readonly skipped: number
  /** Which identities may come more than once, when identities were asked for. */
  readonly repeats: RepeatFilter | undefined
}

/** A row is seldom shorter; where it is, the filter is only a little less selective. */
const bytesPerRow = 32

/**
 * Reads a table to its end before anything is spent, so that what is wrong with the file is known: throws CsvError.
 * With `identityOf` it also learns which answers will be needed again; rows that `skip` takes are not looked up.
 */
export async function checkTable(
  table: Table,
  identityOf?: (cells: readonly string[]) => string | undefined,
  skip: (cells: readonly string[]) => boolean = () => false,
): Promise<Check> {
  const repeats = identityOf && new RepeatFilter(Math.ceil(table.bytes / bytesPerRow))
  let rows = 0
  let ragged = 0
  let skipped = 0
  let firstRagged: number | undefined
  const isRagged = (row: Row) => row.cells.length !== table.header.length
  for await (const batch of table.rows()) {
    rows += batch.length
    for (const row of batch) {
      if (isRagged(row)) {
        ragged++
        firstRagged ??= row.line
      } else if (skip(row.cells)) skipped++
      else if (identityOf && repeats) see(repeats, identityOf, row)
    }
  }
  return { rows, ragged, firstRagged, skipped, repeats }
}

function see(
  repeats: RepeatFilter,
  identityOf: (cells: readonly string[]) => string | undefined,
  row: Row,
): void {
  try {
    const identity = identityOf(row.cells)
    if (identity !== undefined) repeats.see(hashOf(identity))
  } catch (error) {
    // An invalid row is never looked up; the run says what is wrong with it.
    if (!(error instanceof ApiError)) throw error
  }
}
