import { type Note, Refusal } from '../api/calls/errors.js'

/** A column of a sheet with formulas that no program calculated: they have no stored value, and are read as blank. */
export interface UncalculatedColumn {
  /** Its position, from 0. */
  readonly at: number
  readonly cells: number
  /** The first of these cells, such as `D2`. */
  readonly first: string
  /** How many of its cells have a value. */
  readonly values: number
}

/** Returns what a person should know about such columns of a table. */
export function uncalculatedNotes(
  columns: readonly UncalculatedColumn[],
  header: readonly string[],
): readonly Note[] {
  if (columns.length === 0) return []
  const named = columns.map(({ at, cells, first }) => ({ column: header[at] || first, cells, first }))
  return [{ code: 'workbook.uncalculated', details: { columns: named } }]
}

/** A column that says whom a row is about. */
interface IdentifyingColumn {
  readonly field: string
  readonly column: string
  readonly at: number
}

/** Throws a Refusal where most of what such a column holds are formulas without a value: its rows would be blank. */
export function checkCalculated(
  identifying: readonly IdentifyingColumn[],
  uncalculated: readonly UncalculatedColumn[],
): void {
  for (const { field, column, at } of identifying) {
    const formulas = uncalculated.find((one) => one.at === at)
    if (formulas && formulas.cells >= formulas.values)
      throw new Refusal('map.uncalculated', { column, field, ...formulas })
  }
}
