import { extname } from 'node:path'
import { toPrintableJson } from '../../api/values/json.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import { lineWriter } from '../../csv/cells.js'

/** What is written of a row: cells below the names of their columns, or an object. */
export interface Layout<Row> {
  readonly header: readonly string[]
  cells(row: Row): string[]
  record(row: Row): Fields
}

export interface Format<Row> {
  /** Before the first row. */
  readonly head: string
  rows(rows: readonly Row[]): string
  /** Returns what comes after the last row. */
  end(): string
  /** Whether the rows so far come with the end, which is then written of an output that is not complete, too. */
  readonly isHeldBack?: true
}

interface FormatChoices {
  /** What separates cells; a comma by default. */
  readonly delimiter?: string
  /** Begins with a byte order mark, so that spreadsheets take it for UTF-8. */
  readonly mark?: boolean
  /** Leaves cells alone, also those that a spreadsheet would take for a formula. */
  readonly raw?: boolean
  /** Spaces before the fields of an object of a JSON array; without it, each object is on one line. */
  readonly indent?: number
}

interface RowFormat {
  readonly extensions: readonly string[]
  /** Whether rows are cells below a header, so that their columns have to be known before the first of them. */
  readonly hasColumns?: true
  create<Row>(layout: Layout<Row>, choices?: FormatChoices): Format<Row>
  /** Returns the text of a whole reply, where that is more than its rows. */
  whole?(body: unknown): string
}

/** Every format that rows are written in. A new one is an entry here. */
const formatsByName = {
  json: { extensions: ['json'], create: jsonFormat, whole: (body) => `${toPrintableJson(body, 2)}\n` },
  ndjson: {
    extensions: ['ndjson'],
    create: formatByRow((record) => `${toPrintableJson(record)}\n`),
  },
  // A workbook is made of CSV when all of its rows are there.
  csv: { extensions: ['csv', 'xlsx'], hasColumns: true, create: csvFormat },
  tsv: {
    extensions: ['tsv'],
    hasColumns: true,
    create: (layout, choices) => csvFormat(layout, { ...choices, delimiter: '\t' }),
  },
  ids: { extensions: [], create: formatByRow((record) => toLine(idOf(record))) },
} satisfies Readonly<Record<string, RowFormat>>

export const rowFormats: Readonly<Record<keyof typeof formatsByName, RowFormat>> = formatsByName

const textFormat = <Row>(toText: (row: Row) => string, head = ''): Format<Row> => ({
  head,
  rows: (rows) => rows.map((row) => toText(row)).join(''),
  end: () => '',
})

function csvFormat<Row>({ header, cells }: Layout<Row>, choices: FormatChoices = {}): Format<Row> {
  const { delimiter = ',', mark = false, raw = false } = choices
  const line = lineWriter(delimiter, raw)
  return textFormat((row) => line(cells(row)), (mark ? '\ufeff' : '') + line(header))
}

function jsonFormat<Row>({ record }: Layout<Row>, { indent = 0 }: FormatChoices = {}): Format<Row> {
  const margin = ' '.repeat(indent)
  let separator = ''
  const write = (row: Row) => {
    const text = `${separator}\n${toPrintableJson(record(row), indent)}`
    separator = ','
    return indent > 0 ? text.replaceAll('\n', `\n${margin}`) : text
  }
  return {
    head: '[',
    rows: (rows) => rows.map(write).join(''),
    end: () => (separator === '' ? ']\n' : '\n]\n'),
  }
}

function formatByRow(toText: (record: Fields) => string): RowFormat['create'] {
  return ({ record }) => textFormat((row) => toText(record(row)))
}

const toLine = (id: string | undefined): string => (id ? `${id}\n` : '')

/** What `--excel` stands for: a byte order mark, and the delimiter that spreadsheets expect where a locale is used. */
export const excel = (locale: string | undefined): FormatChoices => ({
  delimiter: hasDecimalPoint(locale) ? ',' : ';',
  mark: true,
})

/** Whether a locale, as `LANG` names it, is known to write 1.5 with a point. */
function hasDecimalPoint(locale = ''): boolean {
  if (/^(?:C|POSIX)(?:[.@]|$)/.test(locale)) return true
  const tag = /^([a-z]{2,3}(?:[_-][A-Z]{2})?)(?:[.@]|$)/.exec(locale)?.[1]?.replace('_', '-')
  if (tag === undefined) return false
  const parts = new Intl.NumberFormat(tag).formatToParts(1.5)
  return parts.some(({ type, value }) => type === 'decimal' && value === '.')
}

/** The formats of results: a table for people, and those of rows. */
export const formats = ['table', ...(Object.keys(formatsByName) as (keyof typeof formatsByName)[])] as const

export type FormatName = (typeof formats)[number]

/** The extensions that formats are known by, as a sentence lists them: `.json, .ndjson or .csv`. */
export const knownExtensions = Object.values(rowFormats)
  .flatMap(({ extensions }) => extensions.map((extension) => `.${extension}`))
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' or ')

const byExtension = new Map<string, FormatName>([
  ['txt', 'table'],
  ['jsonl', 'ndjson'],
  ...Object.entries(rowFormats).flatMap(([name, { extensions }]) =>
    extensions.map((extension) => [extension, name as FormatName] as const),
  ),
])

/** Returns the format that the extension of a file says; `undefined` where it says none. */
export const formatOfFile = (file: string): FormatName | undefined =>
  byExtension.get(extname(file).slice(1).toLowerCase())

/** Where the id of a record may be, the best place first. */
const idFields = [
  'id',
  'uuid',
  'enrichment_id',
  'network_id',
  'slug',
  'network_url',
  'network_profile_url',
  'profile_url',
  'domain',
  'email',
]

export function idOf(record: Fields): string | undefined {
  const { lead, ...inner } = isObject(record.message) ? record.message : record
  const values = idFields.map((name) => inner[name] ?? (isObject(lead) ? lead[name] : undefined))
  const id = values.find((value) => typeof value === 'string' || typeof value === 'number')
  return id === undefined ? undefined : String(id)
}
