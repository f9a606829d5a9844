import type { Table } from './read.js'

/** What one pass over a whole file has found. */
export interface Check {
  readonly rows: number
  /** Rows with more or fewer cells than the header. */
  readonly ragged: number
  /** Line of the first of them. */
  readonly firstRagged: number | undefined
}

/** Reads a table to its end before anything is spent, so that what is wrong with the file is known: throws CsvError. */
export async function checkTable(table: Table): Promise<Check> {
  let rows = 0
  let ragged = 0
  let firstRagged: number | undefined
  for await (const batch of table.rows()) {
    rows += batch.length
    for (const row of batch) {
      if (row.cells.length === table.header.length) continue
      ragged++
      firstRagged ??= row.line
    }
  }
  return { rows, ragged, firstRagged }
}
