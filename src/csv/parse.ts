import { Parser } from 'csv-parse'
import { CsvError } from './errors.js'

/** How a text is split into rows. */
export interface ParseOptions {
  readonly delimiter: string
  /** Line of the file that the text begins on. */
  readonly firstLine: number
  /** Takes a quote within an unquoted cell as it is. */
  readonly looseQuotes?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit: number
}

/** One row of a table: its cells, and the line it begins on. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** Longest row in bytes; a quote that is never closed would else swallow the file into memory. */
const rowLimit = 1_048_576

/** Most cells of a row, as in spreadsheets. Each costs memory, however short it is. */
const maxCells = 16_384

/** Splits UTF-8 text into rows, as many at a time as one piece of text completes; those before an error come before it. */
export async function* parseRows(
  texts: AsyncIterable<Buffer>,
  options: Omit<ParseOptions, 'limit'> & { readonly limit?: number | undefined },
): AsyncGenerator<Row[]> {
  const { delimiter, firstLine, limit = rowLimit } = options
  const plain = new PlainRows(delimiter, firstLine, limit)
  let any: AnyRows | undefined
  for await (const text of texts) {
    if (any) yield* yieldRows(await any.take(text))
    else {
      yield plain.take(text)
      if (!plain.stopped) continue
      any = new AnyRows({ ...options, limit, firstLine: plain.line })
      yield* yieldRows(await any.take(plain.rest))
    }
  }
  if (!any) {
    yield plain.end()
    if (!plain.stopped) return
    any = new AnyRows({ ...options, limit, firstLine: plain.line })
    yield* yieldRows(await any.take(plain.rest))
  }
  yield* yieldRows(await any.end())
}

function* yieldRows({ rows, failure }: Taken): Generator<Row[]> {
  yield rows
  if (failure) throw failure
}

const lineFeed = 10
const carriageReturn = 13
/** A row of more lines is left to others: each line would have its beginning read again. */
const mostLines = 16

/**
 * Splits what most files hold into rows, many times faster than a parser for everything: rows that end with LF or CRLF,
 * cells that are quoted whole or not at all. It stops before the first row that is anything else.
 */
export class PlainRows {
  readonly #delimiter: string
  readonly #limit: number
  #line: number
  #waiting: Buffer[] = []
  #length = 0
  #stopped = false

  /** `limit` is the longest row in bytes. */
  constructor(delimiter: string, firstLine: number, limit: number) {
    this.#delimiter = delimiter
    this.#line = firstLine
    this.#limit = limit
  }

  /** Whether it met a row that it leaves to others: the one that `rest` begins with. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** What was not split yet. */
  get rest(): Buffer {
    return this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting)
  }

  /** The line that `rest` begins on. */
  get line(): number {
    return this.#line
  }

  /** The rows that end in a piece of text. */
  take(text: Buffer): Row[] {
    this.#waiting.push(text)
    this.#length += text.length
    return text.includes(lineFeed) || this.#isOdd(text) ? this.#readRows(false) : []
  }

  /** The row that the text ends with, where it has no line feed. */
  end(): Row[] {
    return this.#readRows(true)
  }

  /** Whether a row that has no line feed yet is long, or ended in another way. */
  #isOdd(text: Buffer): boolean {
    const ended = text.indexOf(carriageReturn)
    return this.#length > this.#limit || (ended >= 0 && ended < text.length - 1)
  }

  #readRows(isLast: boolean): Row[] {
    const bytes = this.rest
    const rows: Row[] = []
    let from = 0
    while (from < bytes.length && !this.#stopped) {
      const to = this.#readRow(bytes, from, isLast, rows)
      if (to === undefined) break
      from = to
    }
    const rest = bytes.subarray(from)
    this.#waiting = [rest]
    this.#length = rest.length
    this.#stopped ||= this.#isOdd(rest)
    return rows
  }

  /** Reads the row that begins here; answers where the next one does, or nothing where this one does not end yet. */
  #readRow(bytes: Buffer, from: number, isLast: boolean, rows: Row[]): number | undefined {
    let lines = 0
    for (let at = from; ; ) {
      const end = bytes.indexOf(lineFeed, at)
      if (end < 0 && !isLast) return undefined
      const to = end < 0 ? bytes.length : end
      lines += 1
      if (to - from > this.#limit || lines > mostLines) return this.#stop()
      const cells = this.#cellsOf(
        bytes.toString('utf8', from, bytes[to - 1] === carriageReturn ? to - 1 : to),
      )
      if (cells === 'open' && end >= 0) {
        at = end + 1
        continue
      }
      if (cells === 'odd' || cells === 'open' || cells.length > maxCells) return this.#stop()
      if (cells.length > 0) rows.push({ line: this.#line, cells })
      this.#line += lines
      return end < 0 ? to : end + 1
    }
  }

  #stop(): undefined {
    this.#stopped = true
  }

  /** The cells of a row, none when it is blank; `open` when a quote in it is not closed, `odd` when it is not plain. */
  #cellsOf(row: string): string[] | 'open' | 'odd' {
    if (row === '') return []
    if (row.includes('\r')) return 'odd'
    return row.includes('"') ? quotedCells(row, this.#delimiter) : row.split(this.#delimiter)
  }
}

function quotedCells(row: string, delimiter: string): string[] | 'open' | 'odd' {
  const cells: string[] = []
  for (let from = 0; ; ) {
    const cell = row[from] === '"' ? quotedCell(row, from + 1) : bareCell(row, from, delimiter)
    if (typeof cell === 'string') return cell
    cells.push(cell.text)
    if (cell.end === row.length) return cells
    if (!row.startsWith(delimiter, cell.end)) return 'odd'
    from = cell.end + delimiter.length
  }
}

/** A cell's text, and where what follows it begins. */
interface Cell {
  readonly text: string
  readonly end: number
}

function quotedCell(row: string, from: number): Cell | 'open' {
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

function bareCell(row: string, from: number, delimiter: string): Cell | 'odd' {
  const next = row.indexOf(delimiter, from)
  const end = next < 0 ? row.length : next
  const text = row.slice(from, end)
  return text.includes('"') ? 'odd' : { text, end }
}

/** Rows that were read, and what stopped the reading after them, if something did. */
export interface Taken {
  readonly rows: Row[]
  readonly failure?: unknown
}

/** Splits text of any shape into rows, or says what is wrong with it. */
export class AnyRows {
  readonly #parser: RowParser
  readonly #limit: number

  constructor(options: ParseOptions) {
    this.#parser = new RowParser(options)
    this.#limit = options.limit
  }

  /** The rows that end in a piece of text. */
  take(text: Buffer): Promise<Taken> {
    return this.#taken((done) => this.#parser.write(text, done))
  }

  /** The row that the text ends with. */
  end(): Promise<Taken> {
    return this.#taken((done) => this.#parser.end(done))
  }

  #taken(step: (done: (error?: Error | null) => void) => void): Promise<Taken> {
    return new Promise((resolve) => {
      step((error) => {
        const failure = error ? toCsvError(error, this.#parser.nextLine, this.#limit) : this.#parser.failure()
        resolve({ rows: this.#parser.takeRows(), failure })
      })
    })
  }
}

/** Takes rows where the parser hands them out: several times faster than reading them from a stream one by one. */
class RowParser extends Parser {
  #rows: Row[] = []
  /** Last line of the row before, and blank lines so far, both in the parser's own count. */
  #end = 0
  #blank = 0
  /** The parser counts a CRLF within quotes as two lines. */
  #surplus: number
  readonly #limit: number
  /** Rows and blank lines, and the bytes up to here, when the last of them ended; the parser limits cells only. */
  #ended = 0
  #endedAt = 0
  #tooWide: CsvError | undefined

  constructor({ delimiter, firstLine, looseQuotes = false, limit }: ParseOptions) {
    super({
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      relax_quotes: looseQuotes,
      max_record_size: limit,
    })
    this.#surplus = 1 - firstLine
    this.#limit = limit
    this.resume()
    // The failed write is yieldRows; without a listener the process would end.
    this.on('error', () => {})
  }

  /** The line that the row being read begins on. */
  get nextLine(): number {
    return this.#end + 1 + this.info.empty_lines - this.#blank - this.#surplus
  }

  /** Returns what is wrong with a row that the parser itself would take, however much memory it needs. */
  failure(): CsvError | undefined {
    if (this.#tooWide) return this.#tooWide
    const { bytes, records, empty_lines } = this.info
    if (records + empty_lines !== this.#ended) {
      this.#ended = records + empty_lines
      this.#endedAt = bytes
    }
    return bytes - this.#endedAt > this.#limit ? tooLong(this.nextLine, this.#limit) : undefined
  }

  takeRows(): Row[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  override push(cells: string[] | null): boolean {
    if (cells === null) return super.push(null)
    const line = this.nextLine
    if (cells.length > maxCells)
      this.#tooWide ??= new CsvError(
        `the row that begins here has ${cells.length.toLocaleString('en')} cells, and ${maxCells.toLocaleString('en')} are the most.`,
        line,
      )
    if (this.#tooWide) return true
    this.#rows.push({ line, cells })
    if (this.info.lines > line + this.#surplus)
      for (const cell of cells) this.#surplus += cell.split('\r\n').length - 1
    this.#end = this.info.lines
    this.#blank = this.info.empty_lines
    return true
  }
}

const tooLong = (line: number, limit: number): CsvError =>
  new CsvError(
    `the row that begins here is longer than ${limit} bytes. Most often a quote was opened and never closed.`,
    line,
  )

function toCsvError(error: unknown, line: number, limit: number): unknown {
  switch ((error as { code?: unknown }).code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return new CsvError(
        'a quote is opened in this row and never closed. Close it, or double it ("") to mean a quote.',
        line,
      )
    case 'CSV_INVALID_CLOSING_QUOTE':
      return new CsvError(
        'in this row a quoted cell goes on after its closing quote. Close the cell where it ends, and double ("") the quotes within it.',
        line,
      )
    case 'INVALID_OPENING_QUOTE':
      return new CsvError(
        'in this row a quote stands in the middle of an unquoted cell. Quote the whole cell, and double ("") the quotes within it.',
        line,
      )
    case 'CSV_MAX_RECORD_SIZE':
      return tooLong(line, limit)
    default:
      return error
  }
}
