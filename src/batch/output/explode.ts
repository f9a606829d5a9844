import type { Shape } from '../../api/areas/shapes.js'
import { columnsOf, type Node, nodeOf, type ResultColumn } from './columns.js'
import type { Format } from './format.js'
import type { OutputRow } from './layout.js'

/** The results within a reply that holds several: a list in one of its fields, or a reply that is keyed by them. */
export interface Many {
  /** The field with the list; undefined where the keys of the reply are what tells its results apart. */
  readonly field: string | undefined
  /** Column for those keys. */
  readonly keyedBy: string
}

/** The columns of a reply with several results, all in one row: the list in one cell, and how many it has. */
export function listColumns(output: Shape['output'], { field }: Many): ResultColumn[] {
  return columnsOf(nodeOf(output)).flatMap((column) =>
    column.name === field ? [{ name: `${field}_count`, path: column.path, show: countOf }, column] : [column],
  )
}

/** The same where each result has few fields and there is mostly one: a column for each of them, `a; b` where there are more. */
export function joinedColumns(output: Shape['output'], { field }: Many): ResultColumn[] {
  const inner = columnsOf(itemOf(output, field)).map(({ name, path }) => ({
    name,
    path: [field ?? ''],
    show: (list: unknown) =>
      Array.isArray(list)
        ? list.map((item) => (item as Record<string, unknown>)[path[0] ?? ''] ?? null)
        : undefined,
  }))
  return columnsOf(nodeOf(output)).flatMap((column) => (column.name === field ? inner : [column]))
}

/** The columns of a row for each result: what the results share, then what each of them has. */
export function spreadColumns(output: Shape['output'], { field, keyedBy }: Many): ResultColumn[] {
  const inner = columnsOf(itemOf(output, field))
  if (field === undefined) return [{ name: keyedBy, path: [keyedBy] }, ...inner]
  const shape = nodeOf(output).shape ?? {}
  const shared = columnsOf(nodeOf(output)).filter(({ path }) => !isList(shape[path[0] ?? '']))
  return [...shared, ...inner]
}

/** A format that writes a row for each result. What a row cost stands in the first of its rows, so that a sum stays right. */
export const spreading = (format: Format, many: Many): Format => ({
  ...format,
  rows: (rows) => format.rows(rows.flatMap((row) => spread(row, many))),
})

function spread(row: OutputRow, { field, keyedBy }: Many): OutputRow[] {
  if (typeof row.body !== 'object' || row.body === null) return [row]
  const body = row.body as Readonly<Record<string, unknown>>
  if (field === undefined) {
    const keyed = Object.entries(body).map(([key, value]) => ({ [keyedBy]: key, ...(value as object) }))
    return rowsOf(row, keyed.length > 0 ? keyed : [{}])
  }
  const { [field]: list, ...shared } = body
  const results = Array.isArray(list) && list.length > 0 ? (list as unknown[]) : [{}]
  return rowsOf(
    row,
    results.map((result) => ({ ...shared, ...(result as object) })),
  )
}

const rowsOf = (row: OutputRow, bodies: readonly object[]): OutputRow[] =>
  bodies.map((body, at) => ({ ...row, body, credits: at === 0 ? row.credits : 0 }))

const countOf = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)

/** The schema of one result. */
function itemOf(output: Shape['output'], field: string | undefined): Node {
  const list = field === undefined ? nodeOf(output) : nodeOf(output).shape?.[field]
  const bare = list && unwrapped(list)
  const item = bare?.def.element ?? bare?.def.valueType
  if (!item) throw new Error(`a reply has no list ${field ?? ''}`)
  return item
}

const isList = (node: Node | undefined): boolean => node !== undefined && unwrapped(node).def.type === 'array'

/** A schema without what makes it optional or nullable. */
function unwrapped(node: Node): Node {
  const inner = node.def.type === 'pipe' ? node.def.out : node.def.innerType
  return inner ? unwrapped(inner) : node
}
