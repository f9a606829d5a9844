import type { Row } from './row.js'

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
      if (cells === 'odd' || cells === 'open') return this.#stop()
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
