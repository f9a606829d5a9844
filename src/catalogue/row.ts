import type { Given } from './kind.js'

/** One record of a file, or why it cannot be taken. `line` is where it begins, counted from 1. */
export type Row =
  | { readonly line: number; readonly given: Given }
  | { readonly line: number; readonly reason: string }

/** The rows of a file, in portions, and how its columns were understood. */
export interface Rows {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  readonly portions: AsyncIterable<readonly Row[]>
}

/** Rows that are handed on together, but for the last ones. */
export const rowsInPortion = 2_000

/** Gathers rows into portions; those before an error are handed on before it is. */
export async function* inPortions(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  let rows: Row[] = []
  try {
    for await (const batch of batches) {
      for (const row of batch) rows.push(row)
      if (rows.length < rowsInPortion) continue
      yield rows
      rows = []
    }
  } catch (error) {
    if (rows.length > 0) yield rows
    throw error
  }
  if (rows.length > 0) yield rows
}
