import type { Source, Status } from '../journal/answer.js'
import { cellOf } from './cells.js'
import { type ResultColumn, shownOf, valueAt } from './columns.js'

/** One row of the output: what came in, and what became of it. */
export interface OutputRow {
  readonly cells: readonly string[]
  /** Body of the reply, or undefined. */
  readonly body: unknown
  readonly status: Status
  readonly error: string | null
  readonly credits: number
  /** null for rows that were never looked up. */
  readonly source: Source | null
}

/** Columns that every output has; input columns of these names are overwritten. */
const statusColumns = ['_status', '_error', '_credits', '_source'] as const

type StatusColumn = (typeof statusColumns)[number]

/** What the output looks like, as cells and as objects. */
export interface Layout {
  readonly header: readonly string[]
  cells(row: OutputRow): string[]
  record(row: OutputRow): Record<string, unknown>
}

/** A column of the input that results complete where its cells are empty. */
export interface Fill {
  /** Position of the column. */
  readonly at: number
  readonly column: ResultColumn
}

/**
 * Input columns in order, then results (`result.NAME` where the input has that name), then the status columns. The
 * result of `fill` has no column of its own.
 */
export function createLayout(
  input: readonly string[],
  results: readonly ResultColumn[],
  fill?: Fill,
): Layout {
  const taken = new Set([...input, ...statusColumns])
  const shown = results.filter(({ name }) => name !== fill?.column.name)
  const named = shown.map((column) => ({ ...column, name: freeName(column.name, taken) }))
  const fields = topLevel(shown, taken)
  const appended = statusColumns.filter((name) => !input.includes(name))
  const header = [...input, ...named.map(({ name }) => name), ...appended]
  const places = statusColumns.map((name) => [name, header.indexOf(name)] as const)
  return {
    header,
    cells(row) {
      const cells: string[] = []
      for (let at = 0; at < input.length; at++) cells.push(row.cells[at] ?? '')
      if (fill && isBlank(cells[fill.at])) cells[fill.at] = cellOf(shownOf(row.body, fill.column))
      for (const column of named) cells.push(cellOf(shownOf(row.body, column)))
      for (const [name, at] of places) cells[at] = cellOf(statusValue(row, name))
      return cells
    },
    record(row) {
      const record: Record<string, unknown> = Object.fromEntries(
        input.map((name, at) => [name, row.cells[at] ?? '']),
      )
      if (fill && isBlank(row.cells[fill.at]))
        record[input[fill.at] ?? ''] = valueAt(row.body, fill.column.path) ?? null
      for (const { path, name } of fields) record[name] = valueAt(row.body, path) ?? null
      for (const name of statusColumns) record[name] = statusValue(row, name)
      return record
    },
  }
}

/** Whether a cell says nothing. */
export const isBlank = (cell: string | undefined): boolean => cell === undefined || cell.trim() === ''

/** Results as the fields of an object: what is nested stays nested. */
function topLevel(results: readonly ResultColumn[], taken: ReadonlySet<string>) {
  const whole = results.find(({ path }) => path.length === 0)
  const keys = [...new Set(results.map(({ path }) => path[0] ?? ''))]
  const fields = whole ? [whole] : keys.map((key) => ({ path: [key], name: key }))
  return fields.map(({ path, name }) => ({ path, name: freeName(name, taken) }))
}

function statusValue(row: OutputRow, name: StatusColumn): string | number | null {
  if (name === '_status') return row.status
  if (name === '_error') return row.error
  return name === '_credits' ? row.credits : row.source
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`result.${name}`, taken) : name
}
