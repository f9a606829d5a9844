import Table from 'cli-table3'
import { commandOf } from '../../api/operations/table.js'
import { isTooLarge } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import { toCell } from '../../runs/output/columns.js'
import type { Format, Layout } from '../../runs/output/formats.js'
import { flatten, type Listing, namesOf, type Row, valueAt } from './records.js'
import {
  cutEnd,
  cutPath,
  drawable,
  formatNumber,
  formatTime,
  type Look,
  labelOf,
  oneLine,
  shortenId,
  wrapText,
} from './text.js'
import { widthOf } from './width.js'

/** What of a record is shown: the fields asked for, else the columns of a list, else everything. */
export interface Shown {
  readonly fields?: readonly string[] | undefined
  /** Columns of a list, as dotted paths. */
  readonly columns?: readonly string[] | undefined
  /** Columns that a narrow screen leaves out, the first one first; by default those at the right. */
  readonly optional?: readonly string[] | undefined
  readonly total?: Row | undefined
  readonly ids?: readonly string[] | undefined
  /** What an empty list says; that nothing was found where it is absent. */
  readonly empty?: string | undefined
}

/** Returns a result for a person: a list as a table, one record as lines of name and value. */
export function table(body: unknown, listing: Listing, shown: Shown, look: Look): string {
  const [first = {}] = listing.rows
  if (!listing.isList)
    return record(shown.fields ? pickValues(first, shown.fields) : flatten(first), look, shown.ids)
  const columns = shown.fields ?? shown.columns ?? []
  // Records of one operation can be of two kinds: columns that none of them has are left out.
  const present = columns.filter((column) => listing.rows.some((row) => valueAt(row, column) !== undefined))
  const names =
    shown.fields ?? (present.length > 0 ? present : columns.length > 0 ? columns : namesOf(listing.rows))
  if (listing.rows.length === 0) return `${shown.empty ?? 'Nothing found.'}\n${footer(body, listing, look)}`
  return grid(names, listing.rows, look, shown) + footer(body, listing, look)
}

export const tableRows = 1_000

/** Returns a format of rows that draws them as a table when all have come. */
export function tableFormat<Line>(
  { record: toRecord }: Layout<Line>,
  names: readonly string[],
  look: Look,
  notify: (text: string) => void,
  shown: Pick<Shown, 'fields' | 'optional'> = { optional: [...names].slice(1, -1).reverse() },
): Format<Line> {
  const rows: Row[] = []
  let left = 0
  return {
    head: '',
    isHeldBack: true,
    rows(some) {
      const taken = some.slice(0, tableRows - rows.length)
      for (const row of taken) rows.push(toRecord(row))
      left += some.length - taken.length
      return ''
    },
    end() {
      const first = `the first ${formatNumber(tableRows)} rows are shown`
      if (left > 0) notify(`Only ${first}. For all of them: -o FILE or --format csv`)
      return rows.length === 0 ? '' : grid(names, rows, look, shown)
    },
  }
}

/** Returns lines of name and value, without empty values. Long values are wrapped. */
export function record(flat: Readonly<Record<string, unknown>>, look: Look, ids: readonly string[] = []) {
  const entries = Object.entries(flat)
    .map(([name, value]) => [labelOf(name), ...format(name, value, look, ids)] as const)
    .filter(([, text]) => text !== '')
  const width = Math.min(look.width, 110)
  const nameWidth = Math.min(0.4 * width, Math.max(0, ...entries.map(([name]) => widthOf(name))))
  const lines = entries.map(([name, text, kind]) => {
    // A word that is too long beside the name, such as an id, stands below it; so does that of a long name where the line has no room.
    const longest = Math.max(...text.split(' ').map(widthOf))
    const isBeside = widthOf(name) > nameWidth && widthOf(name) + 2 + widthOf(text) <= width
    if (isBeside) return `${look.dim(name)}  ${paint(text, kind, look)}`
    const isBelow = widthOf(name) > nameWidth || longest > width - nameWidth - 2
    const margin = isBelow ? 2 : nameWidth + 2
    const room = Math.max(8, width - margin)
    const parts = kind === 'path' && look.isTerminal ? [cutPath(text, room, look)] : wrapText(text, room)
    const values = parts.map((part) => ' '.repeat(margin) + paint(part, kind, look))
    const label = look.dim(name)
    if (isBelow) return [label, ...values].join('\n')
    const [first = '', ...rest] = values
    return [label + first.slice(widthOf(name)), ...rest].join('\n')
  })
  return lines.length === 0 ? 'Nothing found.\n' : `${lines.join('\n')}\n`
}

type CellKind = 'number' | 'id' | 'path' | 'time' | 'status' | 'text'

type GridColumn = ReturnType<typeof toColumn>

/** Returns a table without borders that fits the terminal: texts are cut, then columns left out, else it is stacked. */
export function grid(
  names: readonly string[],
  rows: readonly Row[],
  look: Look,
  { fields, optional, ids, total: sums }: Shown = {},
): string {
  const total = rows.length > 1 ? sums : undefined
  let columns = names.map((name, at) =>
    withLast(toColumn(name, rows, look, ids), total && (at === 0 ? 'Total' : total[name]), look),
  )
  const room = look.isTerminal ? look.width : Number.POSITIVE_INFINITY
  let widths = fitWidths(columns, room)
  while (!widths && !fields && columns.length > 3) {
    const [next] = [...(optional ?? []), ...names.slice(1).reverse()].filter((name) =>
      columns.some((column) => column.name === name),
    )
    columns = columns.filter(({ name }) => name !== next)
    widths = fitWidths(columns, room)
  }
  if (widths) return draw(columns, widths, look)
  const all = total ? [...rows, { [names[0] ?? '']: 'Total', ...total }] : rows
  return all.map((row) => record(pickValues(row, names), look, ids)).join('\n')
}

function draw(columns: readonly GridColumn[], room: readonly number[], look: Look): string {
  const cells = columns.map(({ cells, kind }, at) =>
    cells.map((cell) => (kind === 'path' ? cutPath : cutEnd)(cell, room[at] ?? 0, look)),
  )
  const labels = columns.map(({ label }, at) => cutEnd(label, room[at] ?? 0, look))
  const widths = cells.map((texts, at) => Math.max(...[labels[at] ?? '', ...texts].map(widthOf)))
  const drawn = new Table({
    chars: bare,
    head: labels.map(look.bold),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colWidths: widths.map((width) => width + 2),
    colAligns: columns.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
    wordWrap: false,
  })
  for (const row of cells[0]?.keys() ?? [])
    drawn.push(columns.map(({ kind }, at) => paint(cells[at]?.[row] ?? '', kind, look)))
  return `${drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

const bare = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat('middle')
    .map((name) => [name, '']),
)

const pickValues = (row: Row, columns: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(columns.map((column) => [column, valueAt(row, column)]))

function toColumn(name: string, rows: readonly Row[], look: Look, ids?: readonly string[]) {
  const values = rows.map((row) => valueAt(row, name))
  const others = ids?.includes(name) ? values.filter((value) => typeof value === 'string') : []
  const formatted = values.map((value) => format(name, value, look, ids, others))
  const kinds = formatted.filter(([text]) => text !== '' && text !== '–').map(([, kind]) => kind)
  const kind = kinds.find((kind) => kinds.every((one) => one === kind)) ?? 'text'
  const cells = formatted.map(([text]) => text)
  const label = labelOf(name)
  return { name, label, kind, cells, natural: Math.max(widthOf(label), ...cells.map(widthOf)) }
}

function withLast(column: GridColumn, value: unknown, look: Look): GridColumn {
  if (value === undefined) return column
  const [text] = format(column.name, value, look)
  return { ...column, cells: [...column.cells, text], natural: Math.max(column.natural, widthOf(text)) }
}

/** The narrowest that a text or a path is cut to; the first column names a row. */
const narrowest = { text: 12, path: 16, first: 40 }

/** Returns column widths that fit, the widest text cut first; `undefined` where none do. */
function fitWidths(columns: readonly GridColumn[], room: number): number[] | undefined {
  const widths = columns.map(({ natural }) => natural)
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - room
  for (; over > 0; over--) {
    const spare = columns.map(({ kind }, at) => {
      const width = widths[at] ?? 0
      if (kind !== 'text' && kind !== 'path') return 0
      return width > (at === 0 ? narrowest.first : narrowest[kind]) ? width : 0
    })
    const widest = spare.indexOf(Math.max(...spare))
    if (!spare[widest]) return undefined
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

function format(
  name: string,
  value: unknown,
  look: Look,
  ids: readonly string[] = [],
  others: readonly string[] = [],
): readonly [string, CellKind] {
  const last = name.slice(name.lastIndexOf('.') + 1)
  if (typeof value === 'number')
    return [/(?:^|_)(?:year|id)$/.test(last) ? `${value}` : formatNumber(value), 'number']
  if (typeof value !== 'string') return [oneLine(describe(value)), 'text']
  const text = oneLine(value)
  if (ids.includes(name)) return [look.isTerminal ? shortenId(text, others) : text, 'id']
  if (moment.test(text) && last !== 'now') return [formatTime(text, look), 'time']
  if (uuid.test(text) || last === 'id') return [text, 'id']
  if (last === 'operation') return [commandOf(text), 'id']
  if (/^_?(?:status|state)$/.test(last)) return [text.replaceAll('_', ' '), 'status']
  if (/^[+-]?[\d.]+ %$/.test(text)) return [text, 'number']
  return [text, /^(?:[/\\~]|[A-Z]:\\)/.test(text) ? 'path' : 'text']
}

/** Returns a value that is no text and no number; a list as its values, an object as its first ones. */
function describe(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return formatNumber(value)
  if (Array.isArray(value)) return value.map(describe).join(value.some(isObject) ? '; ' : ', ')
  if (!isObject(value) || isTooLarge(value)) return toCell(value)
  const texts = Object.values(value).filter((inner) => !isObject(inner) && !Array.isArray(inner))
  return texts.map(describe).filter(Boolean).join(', ')
}

const good = /^(?:finished|found|completed|delivered|valid|active|ok|QUALIFIED)$/i
const bad = /^(?:failed|invalid|expired|revoked|error|DISQUALIFIED)$/i

function paint(text: string, kind: CellKind, look: Look): string {
  if (kind !== 'status') return text
  // Yellow cannot be read on a light background.
  return good.test(text) ? look.green(text) : bad.test(text) ? look.red(text) : text
}

const totals = ['total_count', 'total', 'total_jobs']
/** Fields that the footer does not repeat: stderr has the note already. */
const notInFooter = new Set([...totals, 'note'])

/** Returns what stands beside a list in one line: its page, the total and how to get the next page. */
function footer(body: unknown, { from, rows }: Listing, look: Look): string {
  if (from === undefined) return ''
  const { pagination, ...beside } = body as Row
  const page = isObject(pagination) ? pagination : {}
  const facts = { ...beside, ...page }
  const total = totals.map((name) => facts[name]).find((value) => typeof value === 'number')
  // That there is nothing is said above.
  const isEmpty = rows.length === 0 && total === 0
  const parts = [
    total === undefined || isEmpty ? '' : `${formatNumber(rows.length)} of ${formatNumber(total)}`,
  ]
  if (!isEmpty && typeof page.page === 'number') parts.push(`page ${formatNumber(page.page)}`)
  if (page.has_more === true)
    parts.push(
      typeof page.page === 'number'
        ? `next: --page ${page.page + 1}`
        : `next: --cursor ${describe(page.next_cursor)}`,
    )
  for (const [name, value] of Object.entries(beside))
    if (name !== from && !notInFooter.has(name) && !Array.isArray(value) && value !== false) {
      const [text] = format(name, isObject(value) ? (value.name ?? value) : value, look)
      if (text !== '') parts.push(`${labelOf(name)}: ${text}`)
    }
  const text = parts.filter((part) => part !== '').join(drawable(' · ', look))
  const lines = look.isTerminal ? wrapText(text, look.width) : [text]
  return text === '' ? '' : `\n${lines.map((line) => `${look.dim(oneLine(line))}\n`).join('')}`
}
