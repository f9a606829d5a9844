import type { Note } from '../api/calls/errors.js'

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

/** Whether most of what a column holds are such formulas. */
export const isUncalculated = ({ cells, values }: UncalculatedColumn): boolean => cells >= values
