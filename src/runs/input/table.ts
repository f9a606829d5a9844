import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { ApiError, type Note, Refusal } from '../../api/calls/errors.js'
import { detectEncoding, type Encoding, encodingSampleBytes } from '../../csv/detect-encoding.js'
import { checkCsv, readChunks, sampleOf } from '../../csv/encoding.js'
import { FooterCounter, markFooter } from '../../csv/footer.js'
import { RepeatedKeys, RepeatFilter } from '../../csv/identity-filter.js'
import { isOwnName, type RepeatedName, toUnnamed } from '../../csv/names.js'
import { type CsvRow, type RowOptions, readRows } from '../../csv/parse.js'
import { detectFormat, isText } from '../../csv/table-format.js'
import { type UncalculatedColumn, uncalculatedNotes } from '../../csv/uncalculated.js'
import { unreadable } from '../../csv/unreadable.js'
import { ColumnSample, isData, withFirstRow } from '../../identity/value-kinds.js'

/** Options for reading a file, where recognising its format is not enough. */
export interface ReadOptions extends RowOptions {
  /** A label that TextDecoder knows, such as `windows-1252`. */
  readonly encoding?: string | undefined
  readonly delimiter?: string | undefined
  /** The copy of a sheet as CSV, where the file is a workbook. */
  readonly copy?: FileHandle | undefined
  readonly uncalculated?: readonly UncalculatedColumn[] | undefined
  /** Lines above the header. */
  readonly skipLines?: number | undefined
  /** False where the first row is data; recognised when absent. */
  readonly header?: boolean | undefined
}

/** A CSV file that has been recognised; its rows can be read several times. */
export type Table = Awaited<ReturnType<typeof openTable>>

/** Opens a CSV file: recognises encoding and delimiter and checks its header. */
export async function openTable(path: string, options: ReadOptions = {}) {
  const { copy, uncalculated = [] } = options
  const { head, bytes } = await readHead(path, copy)
  const encoding = detectEncoding(head, options.encoding)
  const sample = sampleOf(head, encoding)
  checkCsv(path, sample)
  const detected = detectFormat(sample, options.skipLines ?? (options.header === false ? 0 : undefined))
  const { delimiter = detected.delimiter } = options
  const { preamble } = detected
  const rows = () => markFooter(readRows(fileChunks(path, copy), encoding, { delimiter, preamble }, options))
  const { first, samples } = await readBeginning(path, rows())
  const hasHeader = options.header === false ? first.cells.some(isOwnName) : !isData(first.cells, samples)
  const { names, repeated } = hasHeader
    ? nameColumns(first)
    : { names: first.cells.map(toUnnamed), repeated: [] }
  const isAllData = !hasHeader && options.header !== false
  const notes: Note[] = isAllData ? [{ code: 'csv.first_row_is_data', details: {} }] : []
  if (repeated.length > 0)
    notes.push({ code: 'csv.same_names', details: { columns: repeated.map(({ as }) => as) } })
  const read = (): AsyncGenerator<readonly CsvRow[]> =>
    toWidth(hasHeader ? withoutHeader(rows()) : rows(), names.length)
  const isKept = bytes <= mostKept
  return {
    /** Path of the file, or of the workbook that it is a sheet of. */
    path,
    /** The names of its columns, all different: `column_1` and so on where the first row is data. */
    header: names as readonly string[],
    /** Columns that got another name, because an earlier one has theirs. */
    repeated: repeated as readonly RepeatedName[],
    hasHeader,
    /** Columns of a sheet with formulas that have no stored value. */
    uncalculated,
    /** What a person should know about how it was read. */
    notes: [
      ...encodingNotes(encoding),
      ...notes,
      ...uncalculatedNotes(uncalculated, names),
    ] as readonly Note[],
    /** The first non-empty cells of each column. */
    samples: (hasHeader ? samples : withFirstRow(first.cells, samples)) as readonly (readonly string[])[],
    encoding: encoding.label,
    hasMark: encoding.mark > 0,
    delimiter,
    /** Whether it reads like notes or a letter. */
    isText: isText(sample, delimiter),
    /** Text before the header: a `sep=` line, other lines, or nothing. */
    preamble,
    /** About how many rows it has, by how long those at its beginning are. */
    expectedRows: Math.ceil((countLines(head) / Math.max(head.length, 1)) * bytes),
    /** Whether its rows stay in memory once they are read, so that they are read once. */
    isKept,
    /**
     * The rows after the header, in batches, in memory that does not grow with a large file. Blank cells at the end that are
     * missing are added, surplus ones left out; a row with more cells than the header has values in them.
     */
    rows: isKept ? keepRows(read) : read,
  }
}

/** Larger files are read again, in bytes: a row in memory takes about seventeen times as many as in the file. */
const mostKept = 2 * 2 ** 20

/** Keeps the rows of a file in memory once they were read to its end. */
function keepRows(read: () => AsyncGenerator<readonly CsvRow[]>) {
  let kept: readonly (readonly CsvRow[])[] | undefined
  return async function* (): AsyncGenerator<readonly CsvRow[]> {
    if (kept) return yield* kept
    const batches: (readonly CsvRow[])[] = []
    for await (const batch of read()) {
      batches.push(batch)
      yield batch
    }
    kept = batches
  }
}

/** Returns the note about an encoding that was recognised by its letters, if it was. */
export const encodingNotes = ({ label, sample }: Pick<Encoding, 'label' | 'sample'>): Note[] =>
  sample === undefined ? [] : [{ code: 'csv.encoding_recognised', details: { label, sample } }]

/** Copies a stream to a new file with mode 0600, so that it can be read twice. */
export async function spool(stream: NodeJS.ReadableStream, file: string): Promise<void> {
  await pipeline(stream, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
}

async function readHead(path: string, copy?: FileHandle): Promise<{ head: Buffer; bytes: number }> {
  try {
    const found = await stat(path)
    if (found.isDirectory()) throw new Refusal('csv.folder', { path })
    if (!found.isFile()) throw new Refusal('csv.not_regular', { path })
    const file = copy ?? (await open(path))
    try {
      const sample = Buffer.alloc(encodingSampleBytes)
      const { buffer, bytesRead } = await file.read(sample, 0, encodingSampleBytes, 0)
      return { head: buffer.subarray(0, bytesRead), bytes: (await file.stat()).size }
    } finally {
      if (!copy) await file.close()
    }
  } catch (error) {
    throw toReadError(path, error)
  }
}

/** Counts the lines of a text in any encoding; old Macs ended theirs with a carriage return. */
function countLines(text: Buffer): number {
  const count = (end: number) => {
    let lines = 1
    for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + 1)) lines++
    return lines
  }
  return Math.max(count(0x0a), count(0x0d))
}

async function* fileChunks(path: string, copy?: FileHandle): AsyncGenerator<Buffer> {
  try {
    yield* copy ? readChunks(copy) : (createReadStream(path) as AsyncIterable<Buffer>)
  } catch (error) {
    throw toReadError(path, error)
  }
}

const toReadError = (path: string, error: unknown): Refusal =>
  error instanceof Refusal ? error : unreadable(path, error)

async function readBeginning(
  path: string,
  batches: AsyncGenerator<CsvRow[]>,
): Promise<{ first: CsvRow; samples: ColumnSample['cells'] }> {
  let first: CsvRow | undefined
  let sample = new ColumnSample(0)
  try {
    for await (const batch of batches)
      for (const row of batch) {
        if (first) {
          if (!row.isFooter && !sample.add(row.cells)) return { first, samples: sample.cells }
          continue
        }
        first = row
        sample = new ColumnSample(row.cells.length)
      }
  } catch (error) {
    // The check of the whole file reports what is wrong below the first row.
    if (!first) throw error
  }
  if (first) return { first, samples: sample.cells }
  throw new Refusal('csv.empty', { path })
}

/** Gives each column a name of its own: the second `City` is `City_2`. Throws a Refusal where none has a name. */
function nameColumns({ cells, line }: CsvRow) {
  if (cells.every((name) => name.trim() === '')) throw new Refusal('csv.no_names', { line })
  const taken = new Set(cells)
  const seen = new Set<string>()
  const repeated: RepeatedName[] = []
  const names = cells.map((name) => {
    if (name === '' || !seen.has(name)) {
      seen.add(name)
      return name
    }
    let number = 2
    while (taken.has(`${name}_${number}`)) number++
    const as = `${name}_${number}`
    taken.add(as)
    repeated.push({ name, as })
    return as
  })
  return { names, repeated }
}

async function* toWidth(batches: AsyncIterable<readonly CsvRow[]>, width: number) {
  for await (const batch of batches)
    yield batch.every(({ cells }) => cells.length === width)
      ? batch
      : batch.map((row) => rowOfWidth(row, width))
}

function rowOfWidth(row: CsvRow, width: number): CsvRow {
  const { cells } = row
  if (cells.length === width || cells.slice(width).some((cell) => cell.trim() !== '')) return row
  const missing = Array.from({ length: Math.max(0, width - cells.length) }, () => '')
  return { ...row, cells: [...cells.slice(0, width), ...missing] }
}

async function* withoutHeader(batches: AsyncGenerator<CsvRow[]>): AsyncGenerator<readonly CsvRow[]> {
  let seen = false
  for await (const batch of batches) {
    const rows = seen ? batch : batch.slice(1)
    seen ||= batch.length > 0
    if (rows.length > 0) yield rows
  }
}

/** Nothing, or a line that is drawn. */
const blank = /^\s*(?:-{3,}|={3,}|_{3,})?\s*$/

/** Whether a text begins with a letter of ASCII: most cells do, and are seen at once to be something. */
const startsAWord = (cell: string): boolean => {
  const code = cell.charCodeAt(0) | 0x20
  return code >= 0x61 && code <= 0x7a
}

/** Whether a row is no record: a line of a footer, or a blank one as spreadsheets write it, of delimiters or dashes only. */
export const isNoRecord = ({ cells, isFooter = false }: Pick<CsvRow, 'cells' | 'isFooter'>): boolean =>
  isFooter ||
  (cells.length > 1 && cells.every((cell) => cell === '' || (!startsAWord(cell) && blank.test(cell))))

/**
 * Returns the rows of a table that has `total` rows that a run looks up, and their number: the first `rows`, and of all
 * `sample` rows spread evenly over the file. They are the same ones every time.
 */
export function selectRows<T extends Pick<Table, 'rows'>>(
  table: T,
  { rows, sample }: { readonly rows?: number | undefined; readonly sample?: number | undefined },
  total: number,
): { readonly table: T; readonly count: number } {
  const sampled = Math.min(sample ?? total, total)
  const count = Math.min(rows ?? sampled, sampled)
  if (count === total) return { table, count }
  return { table: { ...table, rows: () => takeRows(table.rows(), sampled / total, count) }, count }
}

async function* takeRows(
  batches: AsyncIterable<readonly CsvRow[]>,
  share: number,
  count: number,
): AsyncGenerator<readonly CsvRow[]> {
  let read = 0
  let left = count
  if (left === 0) return
  for await (const batch of batches) {
    const first = read
    read += batch.length
    // Rounding in the middle of a step keeps the number exact.
    const rankOf = (at: number) => Math.floor(at * share + 0.5)
    const kept = share === 1 ? batch : batch.filter((_, at) => rankOf(first + at + 1) > rankOf(first + at))
    const taken = kept.slice(0, left)
    left -= taken.length
    if (taken.length > 0) yield taken
    if (left === 0) return
  }
}

/**
 * Reads a table to its end before anything is spent. Throws a Refusal for a broken file. Counts its rows, and the `ragged` ones
 * with more cells than the header. With `identityOf` it also finds identities that may repeat; rows that `skip` accepts
 * are not looked up.
 */
export async function checkTable(
  table: Table,
  identityOf?: (cells: readonly string[]) => string | undefined,
  skip: (row: CsvRow) => boolean = () => false,
) {
  const repeats = identityOf && new RepeatFilter(table.expectedRows)
  const check = await countTable(table, (row) => {
    const { cells } = row
    if (!identityOf || skip(row) || cells.length !== table.header.length) return
    const identity = orInvalid(() => identityOf(cells))
    if (identity !== undefined) repeats?.see(identity)
  })
  return { ...check, repeats }
}

/** Reads a whole table, and returns how many rows it has, and how many of them do not fit its header. */
async function countTable({ header, rows: read }: Table, each: (row: CsvRow) => void) {
  let rows = 0
  let ragged = 0
  let firstRagged: number | undefined
  const footer = new FooterCounter()
  for await (const batch of read()) {
    rows += batch.length
    for (const row of batch) {
      if (!footer.add(row) && row.cells.length !== header.length) {
        ragged++
        firstRagged ??= row.line
      }
      each(row)
    }
  }
  return { rows, ragged, firstRagged, footer: footer.found }
}

/** Tells which rows of a file are about the same people, and what a row is known by before the others are. */
export interface PeopleOfRows {
  /** Returns what identifies a row, and the identity of its lookup. Throws an ApiError for an invalid one. */
  read(cells: readonly string[]): { readonly keys: readonly string[]; identity(): string | undefined }
  /** Remembers a valid row: those read behind it are asked with what it says of their person. */
  add(row: CsvRow): void
  /**
   * Ends with the remembered rows: each is asked with what all of them say of its person from then on. Returns the identities of
   * lookups that only this makes.
   */
  complete(): readonly string[]
}

/**
 * The same for lookups of people. Rows whose keys may be those of others are remembered, and compared when all are known; a
 * file without any is read once.
 */
export async function checkPeople(
  table: Table,
  people: PeopleOfRows,
  skip: (row: CsvRow) => boolean = () => false,
) {
  const [repeats, seen] = [new RepeatFilter(table.expectedRows), new RepeatedKeys()]
  const check = await countTable(table, (row) => {
    const { cells } = row
    const isRead = cells.length === table.header.length && !skip(row)
    const known = isRead ? orInvalid(() => people.read(cells)) : undefined
    seen.addRow(known?.keys ?? [])
    const identity = known?.identity()
    if (identity !== undefined) repeats.see(identity)
  })
  const rows = seen.rows()
  if (rows.size === 0) return { ...check, repeats }
  let ordinal = 0
  for await (const batch of table.rows()) for (const row of batch) if (rows.has(ordinal++)) people.add(row)
  for (const identity of people.complete()) repeats.see(identity)
  return { ...check, repeats }
}

/** Returns what a row is read as; `undefined` for an invalid one, which is never looked up: the run reports its error. */
function orInvalid<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return undefined
  }
}
