import { Parser } from 'csv-parse'
import { CsvError } from './csv-error.js'
import type { ParseOptions } from './parse-options.js'
import type { Row } from './row.js'

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
        const failure = error ? understood(error, this.#parser.nextLine, this.#limit) : undefined
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
    this.resume()
    // The failed write is told; without a listener the process would end.
    this.on('error', () => {})
  }

  /** The line that the row being read begins on. */
  get nextLine(): number {
    return this.#end + 1 + this.info.empty_lines - this.#blank - this.#surplus
  }

  takeRows(): Row[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  override push(cells: string[] | null): boolean {
    if (cells === null) return super.push(null)
    const line = this.nextLine
    this.#rows.push({ line, cells })
    if (this.info.lines > line + this.#surplus)
      for (const cell of cells) this.#surplus += cell.split('\r\n').length - 1
    this.#end = this.info.lines
    this.#blank = this.info.empty_lines
    return true
  }
}

function understood(error: unknown, line: number, limit: number): unknown {
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
      return new CsvError(
        `the row that begins here is longer than ${limit} bytes. Most often a quote was opened and never closed.`,
        line,
      )
    default:
      return error
  }
}
