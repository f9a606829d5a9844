import { Refusal } from '../../api/calls/errors.js'
import { parseJson, toJson } from '../../api/values/json.js'
import { type Fields, isObject, resultOr } from '../../api/values/objects.js'
import { detectEncoding, encodingSampleBytes } from '../../csv/detect-encoding.js'
import { checkCsv, checkText, decode, sampleOf } from '../../csv/encoding.js'
import { FooterCounter, markFooter } from '../../csv/footer.js'
import { columnNamed, isOwnColumn, isOwnName, type LeftOutValue, toUnnamed } from '../../csv/names.js'
import { type CsvRow, readRows } from '../../csv/parse.js'
import { detectFormat } from '../../csv/table-format.js'
import { checkCalculated } from '../../csv/uncalculated.js'
import { toProfileUrl } from '../../identity/profile.js'
import {
  ColumnSample,
  describeMisplaced,
  isData,
  isMisplaced,
  isPlaceholder,
  kindsOfField,
  toCompanyDomain,
  toEmail,
  toValueKind,
  withFirstRow,
} from '../../identity/value-kinds.js'
import type { ImportOptions, InputRow, InputRows, OriginalFile, RecordKind } from '../kinds/kind.js'
import { findOpenSet, type OpenReading, readingOf } from '../open-data/read.js'
import { checkField, chosenColumns, findField, hasMany, mapColumns, requiredFields } from './map-columns.js'

/** Opens a CSV or NDJSON file, and recognises its format, encoding and delimiter. */
export async function openFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<InputRows> {
  const { head, chunks: all } = await readHead(bytes, encodingSampleBytes)
  const chunks = toBuffers(all)
  const beginning = Buffer.concat(head)
  checkText(beginning)
  const encoding = detectEncoding(beginning, options.encoding)
  const sample = sampleOf(beginning, encoding)
  const { isSheet } = options
  const original = { encoding: encoding.label, hasMark: encoding.mark > 0 }
  if (isSheet) {
    const csv = { delimiter: ',', preamble: detectFormat(sample, options.skipLines).preamble }
    const rows = readRows(chunks, encoding, csv, { raw: true, isSheet })
    return readCsvRows(kind, rows, options, { ...original, ...csv })
  }
  const format = options.format ?? (/^\s*[{[]/.test(sample) ? 'ndjson' : 'csv')
  if (format === 'ndjson') return readJsonRows(kind, sample, toTexts(decode(chunks, encoding)), options)
  checkCsv(undefined, sample)
  const csv = detectFormat(sample, options.skipLines ?? (options.header === false ? 0 : undefined))
  const rows = readRows(chunks, encoding, csv)
  const read = await readCsvRows(kind, rows, options, { ...original, ...csv })
  return encoding.sample === undefined
    ? read
    : { ...read, encoding: { label: encoding.label, sample: encoding.sample } }
}

/** Reads the first `minBytes` of a file, or all of it. `chunks` include the head again, and end or fail as the file does. */
export async function readHead(bytes: AsyncIterable<Uint8Array>, minBytes: number) {
  const rest = bytes[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let length = 0
  let failure: { readonly error: unknown } | undefined
  try {
    for (let step = await rest.next(); !step.done; step = await rest.next()) {
      head.push(step.value)
      length += step.value.length
      if (length >= minBytes) break
    }
  } catch (error) {
    failure = { error }
  }
  return { head, hasMore: length >= minBytes, chunks: continueWith(head, failure, rest) }
}

async function* toBuffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const { buffer, byteOffset, length } of bytes) yield Buffer.from(buffer, byteOffset, length)
}

async function* toTexts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const piece of pieces) yield piece.toString()
}

/** Reads the rows of a CSV file whose first row names the columns, or is data. */
async function readCsvRows(
  kind: RecordKind,
  read: AsyncIterable<readonly CsvRow[]>,
  { map = {}, header, source, uncalculated = [] }: ImportOptions,
  original: Omit<OriginalFile, 'header'>,
): Promise<InputRows> {
  const batches = markFooter(read)
  const footer = new FooterCounter()
  const [top, ...first] = await readNonEmpty(batches)
  if (!top) throw new Refusal('import.empty')
  const { samples, failure } = await readSamples(top.cells.length, first, batches)
  const hasHeader = header === false ? top.cells.some(isOwnName) : !isData(top.cells, samples)
  const names = hasHeader ? top.cells : top.cells.map(toUnnamed)
  const trimmed = names.map((name) => name.trim())
  const reading = openReadingOf(kind, trimmed, source, map)
  const { fields, more, ...columns } = reading
    ? openColumns(kind, trimmed, reading, map, samples)
    : mapColumns(kind, trimmed, map, hasHeader ? samples : withFirstRow(top.cells, samples))
  const required = requiredFields[kind].flat()
  const identifying = trimmed.flatMap((column, at) => {
    const field = fields[at]
    return field !== undefined && required.includes(field) ? [{ field, column, at }] : []
  })
  checkCalculated(identifying, uncalculated)
  const rows = hasHeader ? first : [top, ...first]
  return {
    ...columns,
    original: { ...original, header: names },
    footer,
    uncalculated,
    openData: { reading },
    batches: toInputRows(
      withoutFooter(continueWith([rows], failure, batches), footer),
      { fields, more, reading },
      kind,
      map,
    ),
  }
}

function openReadingOf(
  kind: RecordKind,
  header: readonly string[],
  source: string | undefined,
  map: Readonly<Record<string, string>>,
): OpenReading | undefined {
  const chosen = Object.keys(map).filter((field) => map[field] !== '')
  const set = kind === 'companies' ? findOpenSet(header, source, chosen) : undefined
  if (!set) return undefined
  // A column has any spelling, or a number.
  const columns = Object.entries(map).map(([field, column]) => {
    const at = column === '' ? -1 : columnNamed(header, column)
    return [field, header[at] ?? ''] as const
  })
  return readingOf(set, header, Object.fromEntries(columns))
}

/** Returns the columns of a file of open data: those that somebody chose, and those that its set has. */
function openColumns(
  kind: RecordKind,
  header: readonly string[],
  { set, mapping, ignored }: OpenReading,
  map: Readonly<Record<string, string>>,
  samples: readonly (readonly string[])[],
): ReturnType<typeof mapColumns> {
  const chosen = chosenColumns(kind, header, map)
  // What the set has, it reads itself.
  const fields = header.map(
    (_, at) => [...chosen].find(([field, place]) => place === at && !Object.hasOwn(set.fields, field))?.[0],
  )
  const own = Object.fromEntries([...chosen].map(([field, at]) => [field, header[at] ?? '']))
  const isRead = (column: string) => fields[header.indexOf(column)] !== undefined
  const all = { ...mapping, ...own }
  const sampleOf = (column: string) => samples[header.indexOf(column)]?.[0] ?? ''
  return {
    fields,
    mapping: all,
    more: { email: [], phone: [], domain: [] },
    ignored: ignored.filter((column) => !isRead(column)),
    notes: [],
    samples: Object.fromEntries(Object.entries(all).map(([field, column]) => [field, sampleOf(column)])),
  }
}

/** Returns the first cells of each column, and adds the rows read for it to `first`. A failure is returned, to come last. */
async function readSamples(width: number, first: CsvRow[], batches: AsyncGenerator<readonly CsvRow[]>) {
  const sample = new ColumnSample(width)
  let isWanted = true
  for (const row of first) if (isWanted && !row.isFooter) isWanted = sample.add(row.cells)
  try {
    while (isWanted) {
      const { value, done } = await batches.next()
      if (done) break
      for (const row of value) {
        first.push(row)
        if (!row.isFooter) isWanted &&= sample.add(row.cells)
      }
    }
    return { samples: sample.cells, failure: undefined }
  } catch (error) {
    return { samples: sample.cells, failure: { error } }
  }
}

async function* withoutFooter(batches: AsyncIterable<readonly CsvRow[]>, footer: FooterCounter) {
  for await (const rows of batches)
    yield rows.some(({ isFooter }) => isFooter) ? rows.filter((row) => !footer.add(row)) : rows
}

/** Yields what was read first, then the rest; where it could not be read on, throws what it failed with. */
async function* continueWith<T>(
  first: readonly T[],
  failure: { readonly error: unknown } | undefined,
  rest: AsyncIterator<T>,
): AsyncGenerator<T> {
  yield* first
  if (failure) throw failure.error
  yield* { [Symbol.asyncIterator]: () => rest }
}

async function readNonEmpty(batches: AsyncGenerator<readonly CsvRow[]>): Promise<readonly CsvRow[]> {
  for (;;) {
    const { value, done } = await batches.next()
    if (done) return []
    if (value.length > 0) return value
  }
}

async function* toInputRows(
  batches: AsyncIterable<readonly CsvRow[]>,
  {
    fields,
    more,
    reading,
  }: Pick<ReturnType<typeof mapColumns>, 'fields' | 'more'> & {
    readonly reading: OpenReading | undefined
  },
  kind: RecordKind,
  map: ImportOptions['map'],
): AsyncGenerator<InputRow[]> {
  // Of a field that is made for no kind of value, any cell may be used.
  const isChecked = fields.map((field) => field !== undefined && kindsOfField(kind, field) !== undefined)
  const completeProfiles = createProfileUrls(kind, map)
  const nameAt = fields.indexOf(kind === 'companies' ? 'name' : 'company_name')
  const isOf = (field: 'email' | 'phone', cell = '') =>
    cell.trim() !== '' && !isPlaceholder(field, cell) && (toValueKind(cell) ?? field) === field
  const completed = (['email', 'phone'] as const).filter((field) => more[field].length > 0)
  const lacksSite = ({ domain, website }: Record<string, unknown>) =>
    domain === undefined && toCompanyDomain(String(website ?? '')) === undefined
  const complete = (raw: Record<string, unknown>, cells: readonly string[]) => {
    completeProfiles(raw)
    for (const field of completed) {
      const others = more[field].map((at) => cells[at]).filter((cell) => isOf(field, cell))
      if (hasMany(kind, field)) raw[field] = joinPhones(raw[field], others)
      else raw[field] ??= others[0]
    }
    if (more.domain.length > 0 && lacksSite(raw))
      for (const at of more.domain) raw.domain ??= domainOfEmail(cells[at])
    reading?.complete(raw, (place) => cells[place])
  }
  for await (const rows of batches)
    yield rows
      .map((row) => toInputRow(row, { fields, isChecked, nameAt }, kind, complete))
      .filter((row) => row !== undefined)
}

/** Returns the domain of a company's own mailbox; `undefined` of one at a provider that many have theirs at. */
function domainOfEmail(cell = ''): string | undefined {
  const email = isPlaceholder('email', cell) ? undefined : toEmail(cell)
  return email === undefined ? undefined : toCompanyDomain(email)
}

/** Returns phones as a cell with a list of them. */
const joinPhones = (first: unknown, others: readonly unknown[]): unknown =>
  others.length === 0 ? first : [first, ...others].flat().filter(Boolean).join('; ')

/** Returns what puts URLs in place of the names of profiles in a record, in fields that somebody has chosen a column for. */
function createProfileUrls(kind: RecordKind, map: ImportOptions['map'] = {}) {
  const chosen = Object.keys(map).filter(
    (field) => field.endsWith('network_url') || field === 'network_profile_url',
  )
  return (raw: Record<string, unknown>): void => {
    for (const field of chosen) {
      const text = raw[field]
      const of = kind === 'companies' || field.startsWith('company_') ? 'company' : 'person'
      if (typeof text === 'string') raw[field] = toProfileUrl(of, text)
    }
  }
}

/** What is known of the columns of a file: their fields, whether a value may be misplaced, and where a company's name is. */
interface ReadColumns {
  readonly fields: readonly (string | undefined)[]
  readonly isChecked: readonly boolean[]
  readonly nameAt: number
}

/** Returns a CSV row as a record by field; `undefined` when all its cells are blank. */
function toInputRow(
  { cells, line }: CsvRow,
  { fields, isChecked, nameAt }: ReadColumns,
  kind: RecordKind,
  complete: (raw: Record<string, unknown>, cells: readonly string[]) => void,
): InputRow | undefined {
  const width = fields.length
  if (cells.every((cell) => cell.trim() === '')) return undefined
  if (cells.length > width && cells.slice(width).some((cell) => cell.trim() !== ''))
    return { line, cells, reason: `has ${cells.length} cells, but the header has ${width}` }
  const name = cells[nameAt]?.trim() || undefined
  const raw: Record<string, unknown> = {}
  const leftOut: LeftOutValue[] = []
  for (let at = 0; at < width; at++) {
    const field = fields[at]
    const cell = cells[at]
    if (field === undefined || !cell || isPlaceholder(field, cell)) continue
    if (!isChecked[at] || !isMisplaced(kind, field, cell, name)) raw[field] = cell
    else leftOut.push({ field, value: cell, reason: `${field} ${describeMisplaced(field, cell)}` })
  }
  complete(raw, cells)
  return leftOut.length === 0 ? { line, cells, raw } : { line, cells, raw, leftOut }
}

/** Maximum length of a record, in characters. */
const maxRecordLength = 16 * 1_048_576

/** Reads one JSON object per line, or one array of objects. `head` is the beginning of the file. */
function readJsonRows(
  kind: RecordKind,
  head: string,
  texts: AsyncIterable<string>,
  { map = {}, source }: ImportOptions,
): InputRows {
  const pieces = /^\s*\[/.test(head) ? readArray(texts) : splitLines(texts)
  const named = Object.entries(map).map(([field, key]) => [key, checkField(kind, field)] as const)
  const keys = new Map(named.filter(([key]) => key !== ''))
  const fieldByKey = new Map<string, string | undefined>()
  const mapping: Record<string, string> = {}
  const ignored: string[] = []
  const samples: Record<string, string> = {}
  const toField = (key: string): string | undefined => {
    if (fieldByKey.has(key)) return fieldByKey.get(key)
    const guess = keys.has(key) ? undefined : findField(kind, key)
    const field = guess !== undefined && Object.hasOwn(map, guess) ? undefined : (keys.get(key) ?? guess)
    if (field === undefined && !isOwnColumn(key)) ignored.push(key)
    else if (field !== undefined) mapping[field] ??= key
    fieldByKey.set(key, field)
    return field
  }
  const complete = createProfileUrls(kind, map)
  const openData: { reading: OpenReading | undefined } = { reading: undefined }
  let keysOfSet: readonly string[] | undefined
  /** The first record says what the file is of. */
  const recognise = (raw: Fields): void => {
    if (keysOfSet) return
    keysOfSet = Object.keys(raw)
    openData.reading = openReadingOf(kind, keysOfSet, source, map)
    if (!openData.reading) return
    Object.assign(mapping, openData.reading.mapping)
    ignored.push(...openData.reading.ignored)
  }
  const toRecord = (raw: Fields): Fields => {
    const record: Record<string, unknown> = {}
    recognise(raw)
    if (openData.reading) {
      for (const [key, field] of keys)
        if (!Object.hasOwn(openData.reading.set.fields, field)) record[field] = raw[key]
      openData.reading.complete(record, (at) => raw[keysOfSet?.[at] ?? ''])
      return record
    }
    for (const [key, value] of Object.entries(raw)) {
      const field = toField(key)
      if (field === undefined) continue
      if (!Object.hasOwn(samples, field) && value !== null && value !== '')
        samples[field] = (typeof value === 'string' ? value : toJson(value)).slice(0, sampleCharacters)
      const isBlank = value === null || value === ''
      if (hasMany(kind, field) && !isBlank) record[field] = joinPhones(record[field], [value].flat())
      else if (record[field] === undefined || record[field] === '' || (field === key && !isBlank))
        record[field] = value
    }
    complete(record)
    return record
  }
  const toRow = ({ line, json }: JsonText): InputRow => {
    const raw: unknown = resultOr(undefined, () => parseJson(json))
    return isObject(raw)
      ? { line, cells: [json], raw: toRecord(raw) }
      : { line, cells: [json], reason: 'is not a JSON object' }
  }
  const batches = async function* () {
    for await (const some of pieces) yield some.map(toRow)
  }
  return { mapping, ignored, samples, openData, batches: batches() }
}

/** Maximum length of a value that is shown. */
const sampleCharacters = 500

interface JsonText {
  readonly line: number
  readonly json: string
}

async function* splitLines(texts: AsyncIterable<string>): AsyncGenerator<readonly JsonText[]> {
  let rest = ''
  let line = 0
  for await (const text of texts) {
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    if (rest.length > maxRecordLength)
      throw new Refusal('import.record_too_long', { line: line + whole.length + 1 })
    yield whole.map((json) => ({ line: ++line, json })).filter(({ json }) => json.trim() !== '')
  }
  if (rest.trim() !== '') yield [{ line: line + 1, json: rest }]
}

/** Maximum length of an array, in characters: unlike lines, it is read whole. */
const maxArrayLength = 64 * 1_048_576

/** Reads one array of records; a record has its number in place of a line. */
async function* readArray(texts: AsyncIterable<string>): AsyncGenerator<readonly JsonText[]> {
  let text = ''
  for await (const more of texts) {
    text += more
    if (text.length > maxArrayLength) throw new Refusal('import.array_too_long')
  }
  const records = resultOr(undefined, () => parseJson(text))
  if (!Array.isArray(records)) throw new Refusal('import.array_broken')
  for (const [at, record] of records.entries()) yield [{ line: at + 1, json: toJson(record) }]
}
