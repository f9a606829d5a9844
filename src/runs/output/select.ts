import { Refusal } from '../../api/calls/errors.js'
import { valueAt } from '../../api/values/objects.js'
import { type FieldType, isLeaf, parseExpression, type Scope } from '../../lists/expressions.js'
import type { Novelty } from '../journal/spending.js'
import {
  explodeRow,
  type Many,
  manyOf,
  type Only,
  type OutputRow,
  type ResultColumn,
  type ResultRequest,
  resolveField,
  rowColumnsOf,
  statusValue,
} from './columns.js'
import type { Format, Layout } from './formats.js'

export interface SelectChoices {
  /** A condition in CEL. */
  readonly where?: string | undefined
  readonly only?: readonly Only[] | undefined
  /** Names of columns of the output, in their order. */
  readonly columns?: readonly string[] | undefined
}

export type Selection = NonNullable<Awaited<ReturnType<typeof createSelection>>>

type SelectRequest = ResultRequest & {
  readonly choices: SelectChoices & {
    readonly explode?: boolean
    readonly layout?: string | undefined
    readonly keepInput?: boolean | undefined
  }
}

/** Checks the options about rows before anything is spent; `undefined` where all rows are written. Throws a Refusal. */
export async function createSelection(
  request: SelectRequest,
  header: readonly string[],
  noveltyOf: (row: OutputRow) => Novelty = () => 'new',
  /** Whether a record is the first that is written about its company or person. */
  isFirst: (record: unknown) => boolean = () => true,
) {
  const { where, only = [], explode = false, layout, keepInput } = request.choices
  const { all } = rowColumnsOf(request, explode)
  // An import takes the records that there are.
  const isFoundOnly = only.includes('found') || only.includes('valid') || (layout !== undefined && !keepInput)
  // The number of people is not that of rows.
  const isCounted = explode && manyOf(request.operation, request.shape)?.hasLine === true
  if (where === undefined && only.length === 0 && layout === undefined && !isCounted) return undefined
  const novelties = only.filter((one) => one === 'new' || one === 'changed')
  const statuses = only.includes('valid') ? emailStatuses(all) : undefined
  const condition = where === undefined ? undefined : await openCondition(where, all, header)
  let written = 0
  const isNovel = (row: OutputRow): boolean =>
    novelties.length === 0 ||
    ((row.status === 'found' || row.status === 'not_found') &&
      novelties.some((one) => one === noveltyOf(row)))
  const isWanted = (row: OutputRow): boolean =>
    (!isFoundOnly || row.status === 'found') &&
    (layout === undefined || row.status !== 'suppressed') &&
    (only.includes('found') ||
      !statuses ||
      statuses.some(({ path }) => valueAt(row.body, path) === 'valid')) &&
    isNovel(row) &&
    condition?.test(row) !== false
  return {
    keeps(row: OutputRow): boolean {
      const isKept = isWanted(row) && isFirst(row.body)
      if (isKept) written++
      return isKept
    },
    get written() {
      return written
    },
    /** Rows in which the condition compared a missing value, or one of another type. */
    get doubtful() {
      return condition?.expression.doubtful ?? 0
    },
  }
}

function emailStatuses(columns: readonly ResultColumn[]): readonly ResultColumn[] {
  const found = columns.filter(({ name, show }) => !show && /(?:^|[._])email_status$/.test(name))
  if (found.length > 0) return found
  throw new Refusal('output.no_email')
}

/** Returns a condition over the fields of a result, its status, and the columns of the input. */
async function openCondition(text: string, columns: readonly ResultColumn[], header: readonly string[]) {
  const result = scopeOf(columns)
  const scope = { ...result, ...statusScope, input: scopeOfNames(header, { is: 'text' }) }
  const expression = await parseExpression(text, scope, 'where')
  const roots = Object.keys(result)
  const hasInput = /\binput\b/.test(text)
  return {
    expression,
    test(row: OutputRow): boolean {
      const values: Record<string, unknown> = {}
      for (const name of roots) values[name] = valueAt(row.body, [name]) ?? null
      for (const name of Object.keys(statusScope)) values[name] = statusValue(row, name)
      values.input = hasInput
        ? Object.fromEntries(header.map((name, at) => [name, row.cells[at] ?? '']))
        : null
      return expression.test(values)
    },
  }
}

const statusScope = { _status: true, _error: true, _credits: true, _source: true } as const

/** Returns the names that a condition may use of columns. */
export function scopeOf(columns: readonly Pick<ResultColumn, 'path' | 'type'>[]): Scope {
  type Names = Record<string, Scope[string]>
  const scope: Names = {}
  for (const { path, type = true } of columns) {
    let at = scope
    for (const [depth, name] of path.entries()) {
      const below = at[name]
      if (below !== undefined && isLeaf(below)) break
      if (depth === path.length - 1) at[name] = type
      else {
        const next: Names = { ...below }
        at[name] = next
        at = next
      }
    }
  }
  return scope
}

export const scopeOfNames = (names: readonly string[], type: FieldType | true = true): Scope =>
  Object.fromEntries(names.map((name) => [name, type] as const))

/** Writes the rows of a selection, with `many` a row for each result. Only the first has its cost, so that sums stay right. */
export function selected(
  format: Format<OutputRow>,
  selection: Selection | undefined,
  many: Many | undefined,
): Format<OutputRow> {
  if (!selection && !many) return format
  const written = (row: OutputRow): OutputRow[] => {
    const results = many ? explodeRow(row, many) : [row]
    const kept = selection ? results.filter((one) => selection.keeps(one)) : results
    return kept.map((one, at) => (at === 0 ? one : { ...one, credits: 0 }))
  }
  return { ...format, rows: (rows) => format.rows(rows.flatMap(written)) }
}

/** Returns a layout with some columns of another one. A name is spelt as in `--fields`. Throws a Refusal for an unknown one. */
export function pickColumns(layout: Layout<OutputRow>, names: readonly string[]): Layout<OutputRow> {
  const { header } = layout
  const places = names.flatMap((name) => {
    const found = resolveField(name, header, 'columns')
    return header.flatMap((column, at) => (column === found || column.startsWith(`${found}.`) ? [at] : []))
  })
  const chosen = places.map((at) => header[at] ?? '')
  return {
    header: chosen,
    cells: (row) => {
      const cells = layout.cells(row)
      return places.map((at) => cells[at] ?? '')
    },
    record: (row) => {
      const record = layout.record(row)
      const cells = layout.cells(row)
      const fieldOf = (name: string, at: number) =>
        Object.hasOwn(record, name) ? record[name] : (valueAt(record, name.split('.')) ?? (cells[at] || null))
      return Object.fromEntries(places.map((at) => [header[at] ?? '', fieldOf(header[at] ?? '', at)]))
    },
  }
}
