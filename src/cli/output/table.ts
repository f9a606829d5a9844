import Table from 'cli-table3'
import { toCell } from '../../batch/output/columns.js'
import { flatten, type Listing, namesOf, type Row, valueAt } from './records.js'
import { formatNumber, type Look, oneLine, widthOf } from './text.js'

/** What of a record is shown: the fields asked for, else the columns of a list, else everything. */
export interface Shown {
  readonly fields?: readonly string[] | undefined
  readonly columns?: readonly string[] | undefined
}

/** Returns a result for a person: a list as a table, one record as lines of name and value. */
export function table(body: unknown, listing: Listing, shown: Shown, look: Look): string {
  const [first = {}] = listing.rows
  if (!listing.isList) return record(shown.fields ? pickValues(first, shown.fields) : flatten(first), look)
  const columns = shown.fields ?? shown.columns ?? []
  // Records of one operation can be of two kinds: columns that none of them has are left out.
  const present = columns.filter((column) => listing.rows.some((row) => valueAt(row, column) !== undefined))
  const names =
    shown.fields ?? (present.length > 0 ? present : columns.length > 0 ? columns : namesOf(listing.rows))
  const list = listing.rows.length === 0 ? 'Nothing found.\n' : grid(names, listing.rows, look)
  return list + fieldsBeside(body, listing, look)
}

/** Returns lines of name and value, without empty values. Long values are wrapped. */
export function record(flat: Readonly<Record<string, unknown>>, look: Look): string {
  const entries = Object.entries(flat)
    .map(([name, value]) => [oneLine(name), toCell(value).trim()] as const)
    .filter(([, text]) => text !== '')
  const nameWidth = Math.max(0, ...entries.map(([name]) => widthOf(name)))
  const room = Math.max(20, Math.min(look.width, 110) - nameWidth - 2)
  const lines = entries.map(([name, text]) => {
    const [first = '', ...rest] = wrapText(oneLine(text), room)
    const padded = look.dim(name) + ' '.repeat(nameWidth - widthOf(name))
    return [`${padded}  ${first}`, ...rest.map((line) => ' '.repeat(nameWidth + 2) + line)].join('\n')
  })
  return lines.length === 0 ? 'Nothing found.\n' : `${lines.join('\n')}\n`
}

/** Returns a table without borders, with numbers to the right, cut to the width of the terminal. */
export function grid(names: readonly string[], rows: readonly Row[], look: Look): string {
  const cells = rows.map((row) => names.map((name) => cell(valueAt(row, name))))
  const widths = fitWidths(
    names.map((name, at) => naturalWidth(name, cells, at)),
    look,
  )
  const grid = new Table({
    chars: bare,
    head: names.map((name) => look.bold(oneLine(name))),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colWidths: widths.map((width) => width + 2),
    colAligns: names.map((name) => (isNumeric(rows, name) ? 'right' : 'left')),
    wordWrap: false,
  })
  grid.push(...cells)
  return `${grid
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

const bare = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((name) => [name, '']),
)

const pickValues = (row: Row, columns: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(columns.map((column) => [column, valueAt(row, column)]))

const cell = (value: unknown): string =>
  oneLine(typeof value === 'number' ? formatNumber(value) : toCell(value))

const isNumeric = (rows: readonly Row[], name: string): boolean =>
  rows.every(
    (row) => ['number', 'undefined'].includes(typeof valueAt(row, name)) || valueAt(row, name) === null,
  ) && rows.some((row) => typeof valueAt(row, name) === 'number')

function naturalWidth(name: string, cells: readonly (readonly string[])[], at: number): number {
  return cells.reduce((most, row) => Math.max(most, widthOf(row[at] ?? '')), widthOf(name))
}

/** Returns column widths that fit. The widest column shrinks first. */
function fitWidths(natural: readonly number[], look: Look): number[] {
  const widths = [...natural]
  const room = (look.isTerminal ? look.width : Number.POSITIVE_INFINITY) - 2 * widths.length
  for (let sum = widths.reduce((a, b) => a + b, 0); sum > room; sum--) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= 8) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

/** Returns the fields beside a list, such as totals and the next cursor, in one line. */
function fieldsBeside(body: unknown, listing: Listing, look: Look): string {
  if (listing.from === undefined) return ''
  const rest = Object.entries(flatten(body as Row)).filter(
    ([, value]) => !Array.isArray(value) && value !== null,
  )
  if (rest.length === 0) return ''
  return `\n${look.dim(rest.map(([name, value]) => `${oneLine(name)}: ${cell(value)}`).join('   '))}\n`
}

function wrapText(text: string, room: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > room) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
