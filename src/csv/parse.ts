import { undefuse } from './cells.js'
import type { Encoding } from './detect-encoding.js'
import { type DetectedDelimiter, decode, LineCounter, skip } from './encoding.js'
import { CsvError } from './errors.js'

/** One row of a table: its cells, and the line it begins on. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

/** Options for reading the rows of a table. */
export interface RowOptions {
  /** Keeps cells as they are in the file, including those that were made safe for spreadsheets. */
  readonly raw?: boolean | undefined
  /** Accepts a quote within an unquoted cell, instead of refusing the file. */
  readonly looseQuotes?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit?: number | undefined
  /** Counts rows and blank lines instead of lines: the numbers that rows of a sheet have. */
  readonly isSheet?: boolean | undefined
}

/** Reads the rows of a table from the bytes of its file, header included. Throws CsvError after the rows it could read. */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
  { delimiter, preamble }: DetectedDelimiter,
  { raw = false, looseQuotes, limit, isSheet = false }: RowOptions = {},
): AsyncGenerator<CsvRow[]> {
  const texts = skip(Buffer.byteLength(preamble), decode(chunks, encoding))
  const lines = new LineCounter()
  lines.pass(Buffer.from(preamble))
  const firstLine = lines.line
  const numberOf = isSheet ? createRowCounter() : undefined
  for await (const parsed of parseRows(texts, { delimiter, firstLine, looseQuotes, limit })) {
    const rows = numberOf ? parsed.map((row) => ({ ...row, line: numberOf(row) })) : parsed
    yield raw ? rows : rows.map(restoreCells)
  }
}

/** Returns a function that takes the lines within cells of earlier rows off the line of a row. */
function createRowCounter(): (row: CsvRow) => number {
  let surplus = 0
  return ({ line, cells }) => {
    const number = line - surplus
    for (const cell of cells) if (/[\r\n]/.test(cell)) surplus += countLines(cell) - 1
    return number
  }
}

const countLines = (text: string): number => text.split(/\r\n|\r|\n/).length

function restoreCells(row: CsvRow): CsvRow {
  return row.cells.some((cell) => cell.startsWith("'"))
    ? { line: row.line, cells: row.cells.map(undefuse) }
    : row
}

/** How a text is split into rows. */
interface ParseOptions extends Omit<RowOptions, 'raw' | 'isSheet'> {
  readonly delimiter: string
  /** Line of the file that the text begins on. */
  readonly firstLine: number
}

/** Longest row in bytes. Without a limit, a quote that is never closed would read the whole file into memory. */
const rowLimit = 1_048_576

/** Maximum number of cells in a row, as in spreadsheets. Each takes memory, however short it is. */
const maxCells = 16_384

/**
 * Splits UTF-8 text, in pieces of whole characters, into rows that end with LF, CRLF or CR. Yields the rows that each piece
 * completes; rows before an error come first.
 */
export async function* parseRows(
  texts: AsyncIterable<Buffer>,
  options: ParseOptions,
): AsyncGenerator<CsvRow[]> {
  const splitter = new RowSplitter(options)
  for await (const text of texts) yield* splitter.split(text.toString(), false)
  yield* splitter.split('', true)
}

/** A cell, and the position behind it. */
interface ParsedCell {
  readonly text: string
  readonly end: number
}

class RowSplitter {
  /** What is not split yet; a row begins here. */
  #text = ''
  /** Whether nothing comes after it. */
  #isLast = false
  /** The line that the row begins on. */
  #line: number
  /** The next place of each sign, from some position on that is passed already: a text is searched once. */
  #places = new Map<string, number>()

  constructor(private readonly options: ParseOptions) {
    this.#line = options.firstLine
  }

  /** Yields the rows that end in a piece of text. Throws CsvError after them for a row that is none. */
  *split(text: string, isLast: boolean): Generator<CsvRow[]> {
    this.#text += text
    this.#isLast = isLast
    this.#places.clear()
    const rows: CsvRow[] = []
    let from = 0
    try {
      while (from < this.#text.length) {
        const next = this.#readRow(from, rows)
        if (next === undefined) break
        from = next
      }
      this.#checkLength(from, this.#text.length)
    } catch (error) {
      yield rows
      throw error
    }
    this.#text = this.#text.slice(from)
    yield rows
  }

  /** Reads the row that begins at `from`. Returns where the next one begins; `undefined` where this one is not complete. */
  #readRow(from: number, rows: CsvRow[]): number | undefined {
    const lineEnd = this.#lineEnd(from)
    const isPlain = this.#find('"', from) >= lineEnd
    const cells = isPlain ? this.#text.slice(from, lineEnd).split(this.options.delimiter) : []
    const end = isPlain ? lineEnd : this.#readCells(from, cells)
    if (end === undefined) return undefined
    const sign = this.#text.slice(end, end + 2)
    // More text may continue the row, or its CRLF.
    if (!this.#isLast && (sign === '' || sign === '\r')) return undefined
    this.#checkLength(from, end)
    if (cells.length > maxCells)
      throw this.#problem(
        `the row that begins here has ${cells.length.toLocaleString('en')} cells, and ${maxCells.toLocaleString('en')} are the most.`,
      )
    // A blank line is no row.
    if (end > from) rows.push({ line: this.#line, cells })
    this.#line += lineEnd < end ? countLines(this.#text.slice(from, end)) : 1
    return end + (sign === '\r\n' ? 2 : 1)
  }

  /** Reads the cells of a row with quotes. Returns where the row ends; `undefined` where it is not complete. */
  #readCells(from: number, cells: string[]): number | undefined {
    const { delimiter } = this.options
    for (let at = from; ; ) {
      const cell = this.#text[at] === '"' ? this.#quotedCell(at) : this.#bareCell(at)
      if (cell === undefined) return undefined
      cells.push(cell.text)
      if (!this.#text.startsWith(delimiter, cell.end)) return cell.end
      at = cell.end + delimiter.length
    }
  }

  #bareCell(from: number): ParsedCell {
    const end = Math.min(this.#find(this.options.delimiter, from), this.#lineEnd(from))
    if (!this.options.looseQuotes && this.#find('"', from) < end)
      throw this.#problem(
        'in this row a quote stands in the middle of an unquoted cell. Quote the whole cell, and double ("") the quotes within it.',
      )
    return { text: this.#text.slice(from, end), end }
  }

  #quotedCell(from: number): ParsedCell | undefined {
    const { delimiter, looseQuotes } = this.options
    const { length } = this.#text
    let close = this.#find('"', from + 1)
    let isDoubled = false
    for (; this.#text[close + 1] === '"'; close = this.#find('"', close + 2)) isDoubled = true
    if (close >= length && this.#isLast)
      throw this.#problem(
        'a quote is opened in this row and never closed. Close it, or double it ("") to mean a quote.',
      )
    const end = close + 1
    if (end >= length && !this.#isLast) return undefined
    const inner = this.#text.slice(from + 1, close)
    const text = isDoubled ? inner.replaceAll('""', '"') : inner
    if (end >= length || this.#text.startsWith(delimiter, end) || this.#lineEnd(end) === end)
      return { text, end }
    if (!looseQuotes)
      throw this.#problem(
        'in this row a quoted cell continues after its closing quote. Close the cell where it ends, and double ("") the quotes within it.',
      )
    // The quotes are a part of the cell.
    const rest = this.#bareCell(end)
    return { text: `"${text}"${rest.text}`, end: rest.end }
  }

  #lineEnd(from: number): number {
    return Math.min(this.#find('\n', from), this.#find('\r', from))
  }

  /** Returns the next place of a sign; the length of the text where there is none. */
  #find(sign: string, from: number): number {
    const known = this.#places.get(sign) ?? -1
    if (known >= from) return known
    const at = this.#text.indexOf(sign, from)
    const place = at < 0 ? this.#text.length : at
    this.#places.set(sign, place)
    return place
  }

  /** Throws CsvError where a row is too long. A character has up to three bytes for each of its units. */
  #checkLength(from: number, to: number): void {
    const { limit = rowLimit } = this.options
    if (3 * (to - from) > limit && Buffer.byteLength(this.#text.slice(from, to)) > limit)
      throw this.#problem(
        `the row that begins here is longer than ${limit} bytes. Most often a quote was opened and never closed.`,
      )
  }

  #problem(text: string): CsvError {
    return new CsvError(text, this.#line)
  }
}
