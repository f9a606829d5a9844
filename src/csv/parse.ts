import { Parser } from 'csv-parse'
import { type LocalCode, Refusal } from '../api/calls/errors.js'
import type { Fields } from '../api/values/objects.js'
import { restoreCell } from './cells.js'
import type { Encoding } from './detect-encoding.js'
import { decode, LineCounter, skip } from './encoding.js'

/** One row of a table: its cells, and the line it begins on. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
  /** What a row has that comes from no file. */
  readonly fields?: Fields | undefined
  /** Whether it is below the records of the file, and none itself. */
  readonly isFooter?: boolean
  /** Whether it is none because it is a sum between them. */
  readonly isSum?: boolean
}

/** How a table is written. */
export interface TableFormat {
  readonly delimiter: string
  /** Text before the header: a `sep=` line, other lines, or nothing. */
  readonly preamble: string
}

export interface RowOptions {
  /** Keeps cells as they are in the file, including those that were made safe for spreadsheets. */
  readonly raw?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit?: number | undefined
  /** Counts rows and blank lines instead of lines: the numbers that rows of a sheet have. */
  readonly isSheet?: boolean | undefined
}

/**
 * Reads the rows of a table from the bytes of its file, header included: plain rows here, others with csv-parse
 * (decision 14). Throws a Refusal after the rows it could read.
 */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
  { delimiter, preamble }: TableFormat,
  { raw = false, limit, isSheet = false }: RowOptions = {},
): AsyncGenerator<CsvRow[]> {
  const texts = skip(Buffer.byteLength(preamble), decode(chunks, encoding))
  const lines = new LineCounter()
  lines.pass(Buffer.from(preamble))
  const firstLine = lines.line
  const numberOf = isSheet ? createRowCounter() : undefined
  for await (const parsed of parseRows(texts, { delimiter, firstLine, limit })) {
    const rows = numberOf ? parsed.map((row) => ({ ...row, line: numberOf(row) })) : parsed
    yield raw ? rows : rows.map(restoreCells)
  }
}

/** Returns a function that takes the lines within cells of earlier rows off the line of a row. */
function createRowCounter(): (row: CsvRow) => number {
  let surplus = 0
  return ({ line, cells }) => {
    const number = line - surplus
    for (const cell of cells) if (/[\r\n]/.test(cell)) surplus += cell.split(/\r\n|\r|\n/).length - 1
    return number
  }
}

function restoreCells(row: CsvRow): CsvRow {
  return row.cells.some((cell) => cell.startsWith("'") || cell.startsWith('="'))
    ? { line: row.line, cells: row.cells.map(restoreCell) }
    : row
}

interface ParseOptions extends Omit<RowOptions, 'raw' | 'isSheet'> {
  readonly delimiter: string
  /** Line of the file that the text begins on. */
  readonly firstLine: number
}

/** Longest row in bytes. Without a limit, a quote that is never closed would read the whole file into memory. */
const rowLimit = 1_048_576

/** Maximum number of cells in a row, as in spreadsheets. Each takes memory, however short it is. */
const maxCells = 16_384

/** Splits UTF-8 text into rows. Yields the rows that each piece of text completes; rows before an error come first. */
export async function* parseRows(texts: AsyncIterable<Buffer>, options: ParseOptions) {
  const { delimiter, firstLine, limit = rowLimit } = options
  const plain = new PlainRows(delimiter, firstLine, limit)
  let any: AnyRows | undefined
  for await (const text of texts) {
    if (any) yield* yieldRows(await any.parse(text))
    else {
      yield plain.take(text)
      if (!plain.stopped) continue
      any = new AnyRows({ ...options, firstLine: plain.line })
      yield* yieldRows(await any.parse(plain.rest))
    }
  }
  if (!any) {
    yield plain.end()
    if (!plain.stopped) return
    any = new AnyRows({ ...options, firstLine: plain.line })
    yield* yieldRows(await any.parse(plain.rest))
  }
  yield* yieldRows(await any.parseEnd())
}

function* yieldRows({ rows, failure }: ParsedRows): Generator<CsvRow[]> {
  yield rows
  if (failure) throw failure
}

const lineFeed = 10
const carriageReturn = 13
const quote = 34
/** A row of more lines is left to the other parser: each line with a quote is read again from the row's beginning. */
const maxLines = 1_000

/**
 * Splits text into rows as people's files have it, many times faster than a general parser. Rows end with LF or CRLF. A quote
 * quotes where it is the first letter of a cell, but for spaces, and the last one is its last; any other is a letter. It stops
 * before the first row that is anything else.
 */
class PlainRows {
  #waiting: Buffer[] = []
  #length = 0
  /** Whether it met a row that it cannot split: the one that `rest` begins with. */
  stopped = false
  /** Number of cells in the first row. */
  #width = 0

  /** `line` is that which `rest` begins on, `limit` the longest row in bytes. */
  constructor(
    private readonly delimiter: string,
    public line: number,
    private readonly limit: number,
  ) {}

  /** The bytes that are not split yet. */
  get rest(): Buffer {
    return this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting)
  }

  /** Returns the rows that end in a piece of text. */
  take(text: Buffer): CsvRow[] {
    this.#waiting.push(text)
    this.#length += text.length
    return text.includes(lineFeed) || this.#isOdd(text) ? this.#readRows(false) : []
  }

  /** Returns the last row of the text, where it has no line feed. */
  end(): CsvRow[] {
    return this.#readRows(true)
  }

  /** Whether a row that has no line feed yet is too long, or ends with a carriage return. */
  #isOdd(text: Buffer): boolean {
    const ended = text.indexOf(carriageReturn)
    return this.#length > this.limit || (ended >= 0 && ended < text.length - 1)
  }

  #readRows(isLast: boolean): CsvRow[] {
    const bytes = this.rest
    const rows: CsvRow[] = []
    let from = 0
    while (from < bytes.length && !this.stopped) {
      const to = this.#readRow(bytes, from, isLast, rows)
      if (to === undefined) break
      from = to
    }
    const rest = bytes.subarray(from)
    this.#waiting = [rest]
    this.#length = rest.length
    this.stopped ||= this.#isOdd(rest)
    return rows
  }

  /** Reads the row that begins at `from`. Returns where the next one begins; `undefined` where this one is not complete. */
  #readRow(bytes: Buffer, from: number, isLast: boolean, rows: CsvRow[]): number | undefined {
    const firstEnd = bytes.indexOf(lineFeed, from)
    const isTabbed = this.delimiter === '\t'
    let lines = 0
    for (let at = from; ; ) {
      const end = lines === 0 ? firstEnd : bytes.indexOf(lineFeed, at)
      if (end < 0 && !isLast) return undefined
      const to = end < 0 ? bytes.length : end
      lines += 1
      const isTooLong = to - from > this.limit || lines > maxLines
      if (isTooLong && (lines === 1 || !isTabbed)) return this.#stop()
      // A line without a quote closes none.
      const mayClose = lines === 1 || bytes.subarray(at, to).includes(quote)
      const text = mayClose && !isTooLong ? textOf(bytes, from, to) : ''
      const cells = text === '' && lines > 1 ? 'open' : this.#cellsOf(text)
      if (cells === 'open' && end >= 0 && !isTooLong) {
        at = end + 1
        continue
      }
      if (isTabbed && (cells === 'open' || (lines > 1 && this.#isUnquoted(text, cells)))) {
        const end = firstEnd < 0 ? bytes.length : firstEnd
        return this.#add(quotedCells(textOf(bytes, from, end), '\t', true), 1, end, rows)
      }
      return this.#add(cells, lines, to, rows)
    }
  }

  /** Whether lines that a quote seems to join are rows: a table with tabs often has no quotes, and its cells no tabs. */
  #isUnquoted(text: string, cells: readonly string[] | 'odd'): boolean {
    if (cells === 'odd') return !loneReturn.test(text)
    if (!cells.some((cell) => cell.includes('\n') && cell.includes('\t'))) return false
    return text.split(/\r?\n/).every((line) => line.split('\t').length === this.#width)
  }

  /** Adds a row that ends at `to`, and returns where the next one begins. */
  #add(
    cells: readonly string[] | 'open' | 'odd',
    lines: number,
    to: number,
    rows: CsvRow[],
  ): number | undefined {
    if (typeof cells === 'string' || cells.length > maxCells) return this.#stop()
    if (cells.length > 0) rows.push({ line: this.line, cells })
    this.#width ||= cells.length
    this.line += lines
    return to + 1
  }

  #stop(): undefined {
    this.stopped = true
  }

  /** Returns the cells of a row, none when it is blank; `open` when a quote is not closed, `odd` when it is not simple. */
  #cellsOf(row: string): string[] | 'open' | 'odd' {
    if (row === '') return []
    if (loneReturn.test(row)) return 'odd'
    return row.includes('"') ? quotedCells(row, this.delimiter) : row.split(this.delimiter)
  }
}

/** What ends lines only where no line feed follows it. */
const loneReturn = /\r(?!\n)/

const textOf = (bytes: Buffer, from: number, to: number): string =>
  bytes.toString('utf8', from, bytes[to - 1] === carriageReturn ? to - 1 : to)

/** Returns the cells of a row that is complete. */
export function splitRow(row: string, delimiter: string): readonly string[] {
  const cells = quotedCells(row, delimiter, true)
  return typeof cells === 'string' ? row.split(delimiter) : cells
}

/** Returns the cells of a row with quotes. With `isText`, a quote that is not closed is a letter. */
function quotedCells(row: string, delimiter: string, isText = false): string[] | 'open' | 'odd' {
  const cells: string[] = []
  for (let from = 0; ; ) {
    const cell = cellAt(row, from, delimiter, isText)
    if (typeof cell === 'string') return cell
    cells.push(cell.text)
    if (cell.end === row.length) return cells
    from = cell.end + delimiter.length
  }
}

/** The text of a cell, and the position behind it. */
interface ParsedCell {
  readonly text: string
  readonly end: number
}

function cellAt(row: string, from: number, delimiter: string, isText: boolean): ParsedCell | 'open' | 'odd' {
  const first = skipSpaces(row, from)
  if (row[first] !== '"') return bareCell(row, from, from, delimiter)
  const cell = quotedCell(row, first + 1)
  if (cell === 'open') return isText ? bareCell(row, from, from, delimiter) : 'open'
  const end = skipSpaces(row, cell.end)
  if (end === row.length || row.startsWith(delimiter, end)) return { text: cell.text, end }
  // Behind lines in quotes, it is more likely that a quote was never closed.
  return cell.text.includes('\n') ? 'odd' : bareCell(row, from, cell.end, delimiter)
}

function skipSpaces(row: string, from: number): number {
  let at = from
  while (row[at] === ' ') at++
  return at
}

function quotedCell(row: string, from: number): ParsedCell | 'open' {
  let doubled = false
  for (let at = from; ; at += 2) {
    at = row.indexOf('"', at)
    if (at < 0) return 'open'
    if (row[at + 1] === '"') {
      doubled = true
      continue
    }
    const text = row.slice(from, at)
    return { text: doubled ? text.replaceAll('""', '"') : text, end: at + 1 }
  }
}

/** Returns the cell that begins at `from` as it is written, up to the first delimiter behind `after`. */
function bareCell(row: string, from: number, after: number, delimiter: string): ParsedCell {
  const next = row.indexOf(delimiter, after)
  const end = next < 0 ? row.length : next
  return { text: row.slice(from, end), end }
}

/** Rows that were read, and the error after them, if there was one. */
interface ParsedRows {
  readonly rows: CsvRow[]
  readonly failure?: unknown
}

/** Splits any CSV text. Collecting rows as the parser pushes them is several times faster than reading its stream. */
export class AnyRows extends Parser {
  #rows: CsvRow[] = []
  /** Last line of the row before, and blank lines so far, both as the parser counts them. */
  #end = 0
  #blank = 0
  /** The parser counts a CRLF within quotes as two lines. */
  #surplus: number
  /** Longest row in bytes. */
  readonly #limit: number
  /** Rows and blank lines, and the bytes up to here, when the last of them ended; the parser limits cells only. */
  #ended = 0
  #endedAt = 0
  #tooWide: Refusal | undefined

  constructor({ delimiter, firstLine, limit = rowLimit }: ParseOptions) {
    super({
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: limit,
    })
    this.#surplus = 1 - firstLine
    this.#limit = limit
    this.resume()
    // The failed write reports it. Without a listener the process would end.
    this.on('error', () => {})
  }

  /** Returns the rows that end in a piece of text, and what is wrong with the text behind them. */
  parse(text: Buffer): Promise<ParsedRows> {
    return this.#taken((done) => this.write(text, done))
  }

  /** Returns the last row of the text. */
  parseEnd(): Promise<ParsedRows> {
    return this.#taken((done) => this.end(done))
  }

  #taken(step: (done: (error?: Error | null) => void) => void): Promise<ParsedRows> {
    return new Promise((resolve) => {
      step((error) => {
        const rows = this.#rows
        this.#rows = []
        resolve({ rows, failure: error ? toRefusal(error, this.#nextLine, this.#limit) : this.#failure() })
      })
    })
  }

  /** Returns the first line of the row that is being read. */
  get #nextLine(): number {
    return this.#end + 1 + this.info.empty_lines - this.#blank - this.#surplus
  }

  /** Returns the error of a row that is too large, which the parser itself would accept. */
  #failure(): Refusal | undefined {
    if (this.#tooWide) return this.#tooWide
    const { bytes, records, empty_lines } = this.info
    if (records + empty_lines !== this.#ended) {
      this.#ended = records + empty_lines
      this.#endedAt = bytes
    }
    return bytes - this.#endedAt > this.#limit ? tooLong(this.#nextLine, this.#limit) : undefined
  }

  override push(cells: string[] | null): boolean {
    if (cells === null) return super.push(null)
    const line = this.#nextLine
    if (cells.length > maxCells)
      this.#tooWide ??= new Refusal('csv.row_too_wide', { cells: cells.length, max: maxCells, line })
    if (this.#tooWide) return true
    this.#rows.push({ line, cells })
    if (this.info.lines > line + this.#surplus)
      for (const cell of cells) this.#surplus += cell.split('\r\n').length - 1
    this.#end = this.info.lines
    this.#blank = this.info.empty_lines
    return true
  }
}

const tooLong = (line: number, limit: number): Refusal => new Refusal('csv.row_too_long', { limit, line })

/** Our refusals by the codes of the parser. */
const codes: Readonly<Record<string, LocalCode>> = {
  CSV_QUOTE_NOT_CLOSED: 'csv.quote_open',
  CSV_INVALID_CLOSING_QUOTE: 'csv.quote_continues',
  INVALID_OPENING_QUOTE: 'csv.quote_inside',
  CSV_MAX_RECORD_SIZE: 'csv.row_too_long',
}

function toRefusal(error: unknown, line: number, limit: number): unknown {
  const code = codes[String((error as { code?: unknown }).code)]
  return code === undefined ? error : new Refusal(code, { limit, line })
}
