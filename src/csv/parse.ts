import { Parser } from 'csv-parse'
import { CsvError } from './csv-error.js'

/** One row of a table: its cells, and the line it begins on. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** Longest row in bytes; a quote that is never closed would else swallow the file into memory. */
const rowLimit = 1_048_576

/** How a text is split into rows. */
export interface ParseOptions {
  readonly delimiter: string
  /** Line of the file that the text begins on. */
  readonly firstLine: number
  /** Takes a quote within an unquoted cell as it is. */
  readonly looseQuotes?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit?: number | undefined
}

/** Splits UTF-8 text into rows, as many at a time as one piece of text completes; those before an error come before it. */
export async function* parseRows(texts: AsyncIterable<Buffer>, options: ParseOptions): AsyncGenerator<Row[]> {
  const { limit = rowLimit } = options
  const parser = new RowParser(options, limit)
  const failureOf = (step: (done: (error?: Error | null) => void) => void) =>
    new Promise<unknown>((resolve) => {
      step((error) => resolve(error ? understood(error, parser.nextLine, limit) : undefined))
    })
  for await (const text of texts) {
    const failure = await failureOf((done) => parser.write(text, done))
    yield parser.takeRows()
    if (failure) throw failure
  }
  const failure = await failureOf((done) => parser.end(done))
  yield parser.takeRows()
  if (failure) throw failure
}

/** Takes rows where the parser hands them out: several times faster than reading them from a stream one by one. */
class RowParser extends Parser {
  #rows: Row[] = []
  /** Last line of the row before, and blank lines so far, both in the parser's own count. */
  #end = 0
  #blank = 0
  /** The parser counts a CRLF within quotes as two lines. */
  #surplus: number

  constructor({ delimiter, firstLine, looseQuotes = false }: ParseOptions, limit: number) {
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
