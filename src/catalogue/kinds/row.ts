import type { Given } from './kind.js'

/** One record of a file, or why it cannot be taken. `line` is where it begins, counted from 1. */
export type Row =
  | { readonly line: number; readonly given: Given }
  | { readonly line: number; readonly reason: string }

/** The rows of a file, as many at a time as come together, and how its columns were understood. */
export interface Rows {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  readonly batches: AsyncIterable<readonly Row[]>
}
