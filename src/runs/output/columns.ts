import type { Shape } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { notAskedText, type Operation } from '../../api/operations/table.js'
import { toJson } from '../../api/values/json.js'
import { nearest } from '../../api/values/nearest.js'
import { valueAt, valuesAt } from '../../api/values/objects.js'
import { columnNamed } from '../../csv/names.js'
import { statusColumns } from '../../csv/own-columns.js'
import type { CsvRow } from '../../csv/parse.js'
import { isNothing } from '../../identity/name.js'
import type { FieldType } from '../../lists/expressions.js'
import type { AnswerSource, RowStatus } from '../../lookups/answer.js'
import type { Layout } from './formats.js'

/** What rows `--only` can write. */
export const onlyNames = ['found', 'valid', 'new', 'changed'] as const
export type Only = (typeof onlyNames)[number]

export interface ResultColumn {
  readonly name: string
  readonly path: readonly string[]
  /** What the values are, where that is known. */
  readonly type?: FieldType | undefined
  /** What is shown of the value there; the value itself where absent. */
  readonly show?: (value: unknown) => unknown
}

export interface Node {
  readonly shape?: Readonly<Record<string, Node>>
  readonly def: {
    readonly type: string
    readonly innerType?: Node
    readonly out?: Node
    readonly element?: Node
    readonly valueType?: Node
    readonly options?: readonly Node[]
    readonly entries?: Readonly<Record<string, string>>
  }
}

/** The columns of an operation's reply: its fields, those of nested objects as `outer.inner`. */
export const resultColumns = (output: Shape['output']): ResultColumn[] => columnsOf(nodeOf(output))

/** A schema as its columns see it. */
export const nodeOf = (output: Shape['output']): Node => output as unknown as Node

export function columnsOf(node: Node): ResultColumn[] {
  const columns = new Map<string, ResultColumn>()
  collect(node, [], columns)
  return [...columns.values()]
}

function collect(node: Node, path: readonly string[], columns: Map<string, ResultColumn>): void {
  const { innerType, out, options } = node.def
  const inner = node.def.type === 'pipe' ? out : innerType
  if (inner) collect(inner, path, columns)
  else if (node.shape)
    for (const [key, field] of Object.entries(node.shape)) collect(field, [...path, key], columns)
  else if (options?.some(hasFields)) for (const option of options) collect(option, path, columns)
  else if (path.length > 0 || node.def.type === 'record') {
    // A reply whose keys are not known beforehand goes into one cell.
    const name = path.join('.') || 'reply'
    columns.set(name, {
      name,
      path,
      type: isCode(path) ? { is: 'text', isCountry: true } : fieldTypeOf(node),
    })
  }
}

const fieldTypes: Readonly<Record<string, FieldType>> = {
  string: { is: 'text' },
  number: { is: 'number' },
  boolean: { is: 'boolean' },
  array: { is: 'list' },
}

const fieldTypeOf = ({ def: { type, entries } }: Node): FieldType | undefined =>
  entries ? { is: 'text', values: Object.values(entries) } : fieldTypes[type]

const isCode = (path: readonly string[]): boolean => /^country(_code)?$/.test(path.at(-1) ?? '')

const hasFields = (node: Node): boolean =>
  node.shape !== undefined || (node.def.innerType !== undefined && hasFields(node.def.innerType))

const displayedCell = (value: unknown, { show }: ResultColumn): string =>
  toCell(show && value !== undefined ? show(value) : value)

/** The results within a reply that holds several: a list in one of its fields, or a reply that is keyed by them. */
export interface Many {
  /** The field with the list; `undefined` where the reply has its results under keys. */
  readonly field: string | undefined
  readonly keyedBy: string
  /** Whether each result names the line of the row that it came from. */
  readonly hasLine?: boolean
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
export function explodedColumns(output: Shape['output'], { field, keyedBy, hasLine }: Many): ResultColumn[] {
  const inner = columnsOf(itemOf(output, field))
  if (field === undefined) return [{ name: keyedBy, path: [keyedBy] }, ...inner]
  const shape = nodeOf(output).shape ?? {}
  const shared = columnsOf(nodeOf(output)).filter(({ path }) => !isList(shape[path[0] ?? '']))
  return [...(hasLine ? [{ name: lineColumn, path: [lineColumn] }] : []), ...shared, ...inner]
}

const countOf = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)

function itemOf(output: Shape['output'], field: string | undefined): Node {
  const list = field === undefined ? nodeOf(output) : nodeOf(output).shape?.[field]
  const bare = list && unwrap(list)
  const item = bare?.def.element ?? bare?.def.valueType
  if (!item) throw new Error(`a reply has no list ${field ?? ''}`)
  return item
}

const isList = (node: Node | undefined): boolean => node !== undefined && unwrap(node).def.type === 'array'

/** A schema without what makes it optional or nullable. */
export function unwrap(node: Node): Node {
  const inner = node.def.type === 'pipe' ? node.def.out : node.def.innerType
  return inner ? unwrap(inner) : node
}

/** A value as the text of one cell: nothing for null, `a; b` for a list of scalars, JSON for what is nested. */
export function toCell(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value) && value.every(isScalar)) return value.map(toCell).join('; ')
  return toJson(value)
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null

export interface ResultRequest {
  readonly operation: Operation
  readonly shape: Shape
  /** What is the same in every row. */
  readonly constants: Input
  readonly choices?: {
    readonly explode?: boolean
    readonly sources?: boolean
    readonly openSources?: boolean
  }
}

/** Returns how a reply holds several results; `undefined` where it has one. */
export function manyOf({ batch, starts }: Operation, shape: Shape): Many | undefined {
  if (batch?.found !== undefined) return { field: batch.found, keyedBy: '', hasLine: starts !== undefined }
  if (batch?.record) return undefined
  return nodeOf(shape.output).def.type === 'record' ? { field: undefined, keyedBy: 'department' } : undefined
}

/** Returns every column that a row can have, those first that it has unless `--fields` says otherwise. */
export function rowColumnsOf(asked: ResultRequest, explode: boolean) {
  const { operation, shape } = asked
  const many = manyOf(operation, shape)
  if (many && explode) {
    const columns = explodedColumns(shape.output, many)
    return { usual: columns.filter((column) => !isUnusual(column, asked)), all: columns }
  }
  const usual = usualColumns(asked, many)
  const names = new Set(usual.map(({ name }) => name))
  const others = resultColumns(shape.output).filter(({ name }) => !names.has(name))
  return { usual, all: [...usual, ...others] }
}

/** Columns that only open data fills. */
const openColumns = ['_source_name', '_source_date', '_source_licence']
/** What only registers say of a company: it is written where it is asked for. */
const registerColumns = ['original_name', 'legal_name', 'registry_number', 'registry_status']

/** Columns that say who gave a value: only data vendors of the user's own fill them. */
const sourceColumns = [
  'source',
  'email_source',
  'personal_email_source',
  'phone_source',
  'answers_lost',
  'not_asked',
]

/** Whether a column is written only where it is asked for: what open data says beside what other records have. */
function isUnusual({ name }: ResultColumn, { choices }: ResultRequest): boolean {
  const own = name.slice(name.lastIndexOf('.') + 1)
  return registerColumns.includes(own) || (openColumns.includes(own) && !choices?.openSources)
}

function usualColumns(request: ResultRequest, many: Many | undefined): ResultColumn[] {
  const columns = askedColumns(request, many)
  const left = request.choices?.sources ? [] : sourceColumns
  const kept = columns.filter((column) => !left.includes(column.name) && !isUnusual(column, request))
  return request.choices?.sources ? kept.map(readable) : kept
}

/** Returns a column whose cells a person can read. */
const readable = (column: ResultColumn): ResultColumn =>
  column.name === 'not_asked'
    ? { ...column, show: (list: unknown) => Array.isArray(list) && notAskedText(list) }
    : column

function askedColumns(
  { operation, shape, constants }: ResultRequest,
  many: Many | undefined,
): ResultColumn[] {
  if (isOfContacts(operation))
    return resultColumns(shape.output).filter(
      ({ name }) => isWritten(operation, name) && isAskedFor(name, constants),
    )
  if (!many) return resultColumns(shape.output)
  if (many.field === undefined) return departmentColumns(shape, constants)
  return operation.batch?.identity === 'number'
    ? joinedColumns(shape.output, many)
    : listColumns(shape.output, many)
}

/** Columns of a waterfall that belong to one type of enrichment. */
const typed = /^(email|personal_email|phone)(?:_(?:status|source|details))?$/

const isOfContacts = ({ id, starts }: Pick<Operation, 'id' | 'starts'>): boolean =>
  starts === 'waterfall' || id.startsWith('contacts.enrich')

/** Whether files have a result: of a waterfall, rows that found nothing have their status, and the numbers are in `phone`. */
export const isWritten = (operation: Pick<Operation, 'id' | 'starts'>, name: string): boolean =>
  !isOfContacts(operation) || !['message', 'phones', 'phone_status'].includes(name)

/** Whether a column of a waterfall can hold something: only what was asked for is in the reply. */
function isAskedFor(name: string, constants: Input): boolean {
  if (name === 'custom') return constants.custom !== undefined
  const type = typed.exec(name)?.[1]
  const types = constants.enrichment_type
  return type === undefined || !Array.isArray(types) || types.includes(type)
}

/** The headcount of the whole company and of the departments asked for, and all departments in one cell. */
function departmentColumns({ output }: Shape, { departments, live }: Input): ResultColumn[] {
  const { valueType } = nodeOf(output).def
  const asked = Array.isArray(departments) ? departments.map(String) : []
  const inner = valueType ? columnsOf(valueType) : []
  const known = live === false ? inner.filter(({ path }) => path.length === 1) : inner
  const columns = ['All', ...asked].flatMap((department) =>
    known.map(({ name, path }) => ({ name: `${department}.${name}`, path: [department, ...path] })),
  )
  return [...columns, { name: 'departments', path: [] }]
}

/** The result columns that `--fields` names; an object's name stands for all its columns. */
export function chosenColumns(
  { usual, all }: ReturnType<typeof rowColumnsOf>,
  fields: readonly string[] | undefined,
): readonly ResultColumn[] {
  if (!fields) return usual
  const names = all.map(({ name }) => name)
  const chosen = fields.flatMap((field) => {
    const found = resolveField(field, names)
    return all.filter(({ name }) => name === found || name.startsWith(`${found}.`))
  })
  // They are usual only where they are asked for.
  const open = usual.filter((column) => openColumns.includes(column.name) && !chosen.includes(column))
  return [...chosen, ...open]
}

/**
 * Returns the name that a person means in `--fields`: in any spelling (`first-name`, `firstname`), or only its last part
 * where that is unambiguous. The name of an object stands for its fields. Throws a Refusal with the nearest names.
 */
export function resolveField(field: string, names: readonly string[], option = 'fields'): string {
  const known = [...new Set(names.flatMap(withObjects))]
  const typed = toSpelling(field)
  const [whole] = known.includes(field) ? [field] : known.filter((name) => toSpelling(name) === typed)
  if (whole !== undefined) return whole
  const ending = known.filter((name) => toSpelling(name).endsWith(`.${typed}`))
  const [only, ...others] = ending
  if (only === undefined) throw missingField(option, field, names)
  if (others.length === 0) return only
  throw new Refusal('output.field_ambiguous', { option, field, meant: ending })
}

const withObjects = (name: string): string[] =>
  name.split('.').map((_, at, parts) => parts.slice(0, at + 1).join('.'))

const toSpelling = (name: string): string => name.toLowerCase().replace(/[_-]/g, '')

function missingField(option: string, field: string, names: readonly string[]): Refusal {
  const inner = names.filter((name) => nearest(field, [name.slice(name.lastIndexOf('.') + 1)]) !== undefined)
  const near = nearest(field, names)
  return new Refusal('output.no_field', { option, field, meant: near ? [near] : inner.slice(0, 3), names })
}

/** A row of the input with its result. */
export interface OutputRow extends CsvRow {
  readonly body: unknown
  readonly status: RowStatus
  readonly error: string | null
  readonly credits: number
  /** null for rows that were never looked up. */
  readonly source: AnswerSource | null
}

/** The column of a rejects file that says why a row is invalid; where such a file is the input, it is overwritten. */
const reasonColumn = '_reason'

/** A column of the input, and the result that is written there. */
interface CompletedColumn {
  readonly at: number
  readonly column: ResultColumn
}

/** A column of the input that results complete where its cells are empty. */
type OnlyMissing = ReturnType<typeof findOnlyMissing>

/**
 * Input columns in order, then results (`result.NAME` where the input has that name), then the status columns. The
 * result of `onlyMissing` has no separate column, nor has what is said about it.
 */
export function createLayout(
  input: readonly string[],
  results: readonly ResultColumn[],
  onlyMissing?: OnlyMissing,
): Layout<OutputRow> {
  const taken = new Set([...input, ...statusColumns])
  const inPlace = onlyMissing
    ? [onlyMissing, ...onlyMissing.about, ...onlyMissing.notes].map(({ column }) => column.name)
    : []
  const shown = results.filter(({ name }) => !inPlace.includes(name))
  const completedIn = ({ cells, body, status }: OutputRow): readonly CompletedColumn[] => {
    const cell = onlyMissing && cells[onlyMissing.at]
    if (!onlyMissing || !isMissing(cell)) return []
    const { column, about } = onlyMissing
    // What an earlier run noted of a row that is asked again is over.
    const notes = status === 'found' || status === 'not_found' ? onlyMissing.notes : []
    if (!isBlank(displayedCell(valueAt(body, column.path), column))) return [onlyMissing, ...about, ...notes]
    // Where nothing was found, a word for no value stays.
    return isBlank(cell) ? [onlyMissing, ...notes] : notes
  }
  const named = shown.map((column) => ({ ...column, name: freeName(column.name, taken) }))
  const paths = named.map(({ path }) => path)
  const fields = topLevel(shown, taken)
  const appended = statusColumns.filter((name) => !input.includes(name))
  const header = [...input, ...named.map(({ name }) => name), ...appended]
  const written = input.includes(reasonColumn) ? [...statusColumns, reasonColumn] : statusColumns
  const places = written.map((name) => [name, header.indexOf(name)] as const)
  return {
    header,
    cells(row) {
      // An array that grows by push takes four times the memory.
      const cells = new Array<string>(header.length)
      for (let at = 0; at < input.length; at++) cells[at] = row.cells[at] ?? ''
      for (const { at, column } of completedIn(row))
        cells[at] = displayedCell(valueAt(row.body, column.path), column)
      const values = row.body === undefined ? undefined : valuesAt(row.body, paths)
      for (let at = 0; at < named.length; at++)
        cells[input.length + at] = values ? displayedCell(values[at], named[at] as ResultColumn) : ''
      for (const [name, at] of places) cells[at] = toCell(statusValue(row, name))
      return cells
    },
    record(row) {
      const record: Record<string, unknown> = Object.fromEntries(
        input.map((name, at) => [name, row.cells[at] ?? '']),
      )
      for (const { at, column } of completedIn(row))
        record[input[at] ?? ''] = valueAt(row.body, column.path) ?? null
      for (const { path, name } of fields) record[name] = valueAt(row.body, path) ?? null
      for (const name of written) record[name] = statusValue(row, name)
      return record
    },
  }
}

const isBlank = (cell: string | undefined): boolean => cell === undefined || cell.trim() === ''

const isMissing = (cell: string | undefined): boolean => isBlank(cell) || isNothing(cell as string)

/** Results as the fields of an object: what is nested stays nested. */
function topLevel(results: readonly ResultColumn[], taken: ReadonlySet<string>) {
  const whole = results.find(({ path }) => path.length === 0)
  const keys = [...new Set(results.map(({ path }) => path[0] ?? ''))]
  const fields = whole ? [whole] : keys.map((key) => ({ path: [key], name: key }))
  return fields.map(({ path, name }) => ({ path, name: freeName(name, taken) }))
}

export function statusValue(row: OutputRow, name: string): string | number | null {
  if (name === '_status') return row.status
  if (name === '_error') return row.error
  if (name === reasonColumn) return row.status === 'invalid' ? row.error : null
  if (name === '_credits') return row.credits
  return row.source && sourceNames[row.source]
}

/** The source of an answer as outputs name it. In the API, `live` means something else. */
export const sourceNames: Readonly<Record<AnswerSource, string>> = {
  live: 'lookup',
  team: 'reused',
  store: 'reused',
  duplicate: 'duplicate',
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`result.${name}`, taken) : name
}

/** Which column of the input `--only-missing FIELD` (or `FIELD=Column`) means, and the result that completes it. */
export function findOnlyMissing(text: string, columns: readonly ResultColumn[], header: readonly string[]) {
  const [field = '', ...rest] = text.split('=').map((part) => part.trim())
  const column = columns.find(({ name }) => name === field)
  const names = columns.map(({ name }) => name)
  if (!column) throw missingField('only-missing', field, names)
  const wanted = rest.join('=') || field
  const at = columnNamed(header, wanted)
  if (at < 0) {
    const near = nearest(wanted, header) ?? header.find((name) => name.toLowerCase().includes(field))
    throw new Refusal('map.no_column', { field, wanted, near, header })
  }
  const inInput = (name: string, own: string): CompletedColumn[] => {
    const result = columns.find((one) => one.name === name)
    const place = columnNamed(header, own)
    return result && place >= 0 ? [{ at: place, column: readable(result) }] : []
  }
  return {
    /** Position of the column. */
    at,
    column,
    /** The columns about that value, which are filled together with it: its status, and who gave it. */
    about: ['status', 'source'].flatMap((what) => inInput(`${field}_${what}`, `${wanted}_${what}`)),
    /** What is noted of a row that is asked: who could not be, or whose answer was lost. */
    notes: ['not_asked', 'answers_lost'].flatMap((name) => inInput(name, name)),
  }
}

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
    cells.length === header.length && !isMissing(cells[onlyMissing.at])

/** The column with the line of the row that a result came from. */
const lineColumn = '_line'

/** Returns a row for each result of a row, each with what the row cost. */
export function explodeRow(row: OutputRow, { field, keyedBy, hasLine }: Many): OutputRow[] {
  const line = hasLine ? { [lineColumn]: row.line } : {}
  if (typeof row.body !== 'object' || row.body === null) return [hasLine ? { ...row, body: line } : row]
  const body = row.body as Readonly<Record<string, unknown>>
  const { [field ?? '']: list, ...shared } = body
  const results =
    field === undefined
      ? Object.entries(body).map(([key, value]) => ({ [keyedBy]: key, ...(value as object) }))
      : Array.isArray(list)
        ? list.map((result) => ({ ...line, ...shared, ...(result as object) }))
        : []
  const none = field === undefined ? {} : { ...line, ...shared }
  return (results.length > 0 ? results : [none]).map((one) => ({ ...row, body: one }))
}
