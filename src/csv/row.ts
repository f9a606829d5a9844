/** One row of a table: its cells, and the line it begins on. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}
