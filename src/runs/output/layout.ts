import { nearest } from '../../api/values/nearest.js'
import { valueAt } from '../../api/values/objects.js'
import { columnNamed, MappingError, statusColumns } from '../../csv/names.js'
import type { AnswerSource, RowStatus } from '../journal/answer.js'
import {
  displayedValue,
  type Many,
  missingField,
  type ResultColumn,
  type ResultRequest,
  rowColumnsOf,
  toCell,
} from './columns.js'
import type { Format, FormatChoices, Layout } from './format.js'

/** One row of the output: its input and its result. */
export interface OutputRow {
  /** Line of the input where it begins. */
  readonly line: number
  readonly cells: readonly string[]
  /** Body of the reply, or undefined. */
  readonly body: unknown
  readonly status: RowStatus
  readonly error: string | null
  readonly credits: number
  /** null for rows that were never looked up. */
  readonly source: AnswerSource | null
}

/** The column of a rejects file that says why a row is invalid; where such a file is the input, it is overwritten. */
const reasonColumn = '_reason'

/** A column of the input that results complete where its cells are empty. */
interface OnlyMissing {
  /** Position of the column. */
  readonly at: number
  readonly column: ResultColumn
}

/**
 * Input columns in order, then results (`result.NAME` where the input has that name), then the status columns. The
 * result of `onlyMissing` has no separate column.
 */
export function createLayout(
  input: readonly string[],
  results: readonly ResultColumn[],
  onlyMissing?: OnlyMissing,
): Layout<OutputRow> {
  const taken = new Set([...input, ...statusColumns])
  const shown = results.filter(({ name }) => name !== onlyMissing?.column.name)
  const named = shown.map((column) => ({ ...column, name: freeName(column.name, taken) }))
  const fields = topLevel(shown, taken)
  const appended = statusColumns.filter((name) => !input.includes(name))
  const header = [...input, ...named.map(({ name }) => name), ...appended]
  const written = input.includes(reasonColumn) ? [...statusColumns, reasonColumn] : statusColumns
  const places = written.map((name) => [name, header.indexOf(name)] as const)
  return {
    header,
    cells(row) {
      const cells: string[] = []
      for (let at = 0; at < input.length; at++) cells.push(row.cells[at] ?? '')
      if (onlyMissing && isBlank(cells[onlyMissing.at]))
        cells[onlyMissing.at] = toCell(displayedValue(row.body, onlyMissing.column))
      for (const column of named) cells.push(toCell(displayedValue(row.body, column)))
      for (const [name, at] of places) cells[at] = toCell(statusValue(row, name))
      return cells
    },
    record(row) {
      const record: Record<string, unknown> = Object.fromEntries(
        input.map((name, at) => [name, row.cells[at] ?? '']),
      )
      if (onlyMissing && isBlank(row.cells[onlyMissing.at]))
        record[input[onlyMissing.at] ?? ''] = valueAt(row.body, onlyMissing.column.path) ?? null
      for (const { path, name } of fields) record[name] = valueAt(row.body, path) ?? null
      for (const name of written) record[name] = statusValue(row, name)
      return record
    },
  }
}

/** Whether a cell is blank. */
export const isBlank = (cell: string | undefined): boolean => cell === undefined || cell.trim() === ''

/** Results as the fields of an object: what is nested stays nested. */
function topLevel(results: readonly ResultColumn[], taken: ReadonlySet<string>) {
  const whole = results.find(({ path }) => path.length === 0)
  const keys = [...new Set(results.map(({ path }) => path[0] ?? ''))]
  const fields = whole ? [whole] : keys.map((key) => ({ path: [key], name: key }))
  return fields.map(({ path, name }) => ({ path, name: freeName(name, taken) }))
}

function statusValue(row: OutputRow, name: string): string | number | null {
  if (name === '_status') return row.status
  if (name === '_error') return row.error
  if (name === reasonColumn) return row.status === 'invalid' ? row.error : null
  if (name === '_credits') return row.credits
  return row.source && sourceNames[row.source]
}

/** The source of an answer as outputs name it. In the API, `live` means something else. */
const sourceNames: Readonly<Record<AnswerSource, string>> = {
  live: 'lookup',
  store: 'reused',
  duplicate: 'duplicate',
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`result.${name}`, taken) : name
}

/** What `--excel` stands for: a byte order mark, and the delimiter that spreadsheets expect where a locale is used. */
export const excel = (locale: string | undefined): FormatChoices => ({
  delimiter: hasDecimalPoint(locale) ? ',' : ';',
  mark: true,
})

/** Whether a locale, as `LANG` names it, is known to write 1.5 with a point. */
function hasDecimalPoint(locale = ''): boolean {
  const tag = /^([a-z]{2,3}(?:[_-][A-Z]{2})?)(?:[.@]|$)/.exec(locale)?.[1]?.replace('_', '-')
  if (tag === undefined) return false
  const parts = new Intl.NumberFormat(tag).formatToParts(1.5)
  return parts.some(({ type, value }) => type === 'decimal' && value === '.')
}

const option = '--only-missing'

/** Which column of the input `--only-missing FIELD` (or `FIELD=Column`) means, and the result that completes it. */
export function findOnlyMissing(
  text: string,
  columns: readonly ResultColumn[],
  header: readonly string[],
): OnlyMissing {
  const [field = '', ...rest] = text.split('=').map((part) => part.trim())
  const column = columns.find(({ name }) => name === field)
  if (!column)
    throw new MappingError(
      `${option} ${missingField(
        field,
        columns.map(({ name }) => name),
      ).join(' ')}`,
    )
  const wanted = rest.join('=') || field
  const at = columnNamed(header, wanted)
  if (at < 0) throw unknownColumn(field, wanted, header)
  return { at, column }
}

/** Returns the column that rows may have filled already; `undefined` where all rows are looked up. */
export const onlyMissingOf = (
  request: ResultRequest & {
    readonly choices: { readonly explode?: boolean; readonly onlyMissing?: string | undefined }
  },
  header: readonly string[],
): OnlyMissing | undefined => {
  const { explode = false, onlyMissing } = request.choices
  return onlyMissing === undefined
    ? undefined
    : findOnlyMissing(onlyMissing, rowColumnsOf(request, explode).all, header)
}

/** Returns a function that says whether a row has its result already; never one with too many or too few cells. */
export const hasResult =
  (onlyMissing: OnlyMissing, header: readonly string[]) =>
  (cells: readonly string[]): boolean =>
    cells.length === header.length && !isBlank(cells[onlyMissing.at])

function unknownColumn(field: string, wanted: string, header: readonly string[]): MappingError {
  const near = nearest(wanted, header)
  const list = header.map((name) => `"${name}"`).join(', ')
  return new MappingError(
    `${option} ${field}: the file has no column "${wanted}". ` +
      (near === undefined ? `It has: ${list}. ` : `Did you mean "${near}"? `) +
      `Choose one, for example: ${option} ${field}="${near ?? header.find((name) => name !== '') ?? 'Column'}"`,
  )
}

/** A format that writes a row for each result. What a row cost stands in the first of its rows, so that a sum stays right. */
export const explode = (format: Format<OutputRow>, many: Many): Format<OutputRow> => ({
  ...format,
  rows: (rows) => format.rows(rows.flatMap((row) => explodeRow(row, many))),
})

function explodeRow(row: OutputRow, { field, keyedBy }: Many): OutputRow[] {
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
