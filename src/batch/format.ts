import { toJson } from '../api/exact-json.js'
import { defuse } from '../csv/formulas.js'
import type { Layout, OutputRow } from './layout.js'

/** How rows become text. */
export interface Format {
  /** Before the first row. */
  readonly head: string
  rows(rows: readonly OutputRow[]): string
  /** After the last row. */
  readonly tail: string
}

/** Choices about a CSV output. */
export interface CsvChoices {
  readonly delimiter?: string
  /** Begins with a byte order mark, so that spreadsheets take it for UTF-8. */
  readonly mark?: boolean
  /** Leaves cells alone, also those that a spreadsheet would take for a formula. */
  readonly raw?: boolean
}

/** What `--excel` stands for. */
export const excel: CsvChoices = { delimiter: ';', mark: true }

/** Comma-separated values, or separated by something else. */
export function csvFormat(layout: Layout, choices: CsvChoices = {}): Format {
  const { delimiter = ',', mark = false, raw = false } = choices
  const line = lineWriter(delimiter, raw)
  return {
    head: (mark ? '\ufeff' : '') + line(layout.header),
    rows: (rows) => rows.map((row) => line(layout.cells(row))).join(''),
    tail: '',
  }
}

/** Writes the cells of a line, made safe unless `raw`. Half of what a package takes, on the way of every row. */
export function lineWriter(delimiter: string, raw: boolean): (cells: readonly string[]) => string {
  const quotes = new RegExp(`["\\r\\n${delimiter.replace(/[\\\]^-]/g, '\\$&')}]`)
  const cellText = (cell: string): string => {
    const safe = raw ? cell : defuse(cell)
    return quotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return (cells) => {
    let text = ''
    for (let at = 0; at < cells.length; at++) text += (at > 0 ? delimiter : '') + cellText(cells[at] ?? '')
    return `${text}\n`
  }
}

/** One JSON object per line. */
export function ndjsonFormat(layout: Layout): Format {
  return {
    head: '',
    rows: (rows) => rows.map((row) => `${toJson(layout.record(row))}\n`).join(''),
    tail: '',
  }
}

/** One JSON array. */
export function jsonFormat(layout: Layout): Format {
  let first = true
  return {
    head: '[',
    rows: (rows) =>
      rows
        .map((row) => {
          const separator = first ? '\n' : ',\n'
          first = false
          return separator + toJson(layout.record(row))
        })
        .join(''),
    tail: '\n]\n',
  }
}
