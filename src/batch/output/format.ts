import { toJson } from '../../api/values/json.js'
import { defuse } from '../../csv/formulas.js'
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

/** What `--excel` stands for: a byte order mark, and the delimiter that spreadsheets expect where a locale is used. */
export const excel = (locale: string | undefined): CsvChoices => ({
  delimiter: hasDecimalPoint(locale) ? ',' : ';',
  mark: true,
})

/** Whether a locale, as `LANG` names it, is known to write 1.5 with a point. */
function hasDecimalPoint(locale = ''): boolean {
  const tag = /^([a-z]{2,3}(?:[_-][A-Z]{2})?)(?:[.@]|$)/.exec(locale)?.[1]?.replace('_', '-')
  if (tag === undefined) return false
  const parts = new Intl.NumberFormat(tag).formatToParts(1.5)
  return parts.some(({ type, value }) => type === 'decimal' && value === '.')
}

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
    // A blank line would be taken for no row.
    if (cells.length === 1 && cells[0] === '') return '""\n'
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
