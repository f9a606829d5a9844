import { type Fields, isObject } from '../../api/values/objects.js'
import type { EventKind } from '../../api/webhooks/events.js'
import { cutEnd, formatNumber, type Look } from './text.js'
import { widthOf } from './width.js'

export type Row = Fields

/** Returns the value at a dotted path; `undefined` where the path ends early. */
export function valueAt(record: unknown, path: string): unknown {
  if (!isObject(record)) return undefined
  if (Object.hasOwn(record, path)) return record[path]
  const dot = path.indexOf('.')
  return dot < 0 ? undefined : valueAt(record[path.slice(0, dot)], path.slice(dot + 1))
}

export function numberAt(record: unknown, path: string): number | undefined {
  const value = valueAt(record, path)
  return typeof value === 'number' ? value : undefined
}

export function stringAt(record: unknown, path: string): string | undefined {
  const value = valueAt(record, path)
  return typeof value === 'string' ? value : undefined
}

export interface Listing {
  readonly rows: readonly Row[]
  readonly isList: boolean
  readonly from?: string
}

/**
 * Finds the records of a body: the body itself when it is a list or when it has the columns, else the list in it
 * whose records have them (`{lists, pagination}`, `{jobs, total_jobs}`).
 */
export function recordsIn(body: unknown, columns: readonly string[] = []): Listing {
  if (Array.isArray(body)) return { rows: body.map(asRow), isList: true }
  if (!isObject(body)) return { rows: [asRow(body)], isList: false }
  if (columns.length === 0 || columns.some((column) => valueAt(body, column) !== undefined))
    return { rows: [body], isList: false }
  const lists = Object.entries(body).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]))
  const fits = (list: readonly unknown[]) => {
    const first = list.find((one) => one !== null)
    return first === undefined || columns.some((column) => valueAt(first, column) !== undefined)
  }
  const found =
    lists.find(([, list]) => list.length > 0 && fits(list)) ?? lists.find(([, list]) => fits(list))
  if (!found) return { rows: [body], isList: false }
  return { rows: found[1].map(asRow), isList: true, from: found[0] }
}

/** An item of a bulk request that was not found is null. */
const asRow = (value: unknown): Row => (isObject(value) ? value : value === null ? {} : { value })

/** Returns a record with nested objects as dotted names. Lists stay whole. */
export function flatten(record: Row, prefix = ''): Record<string, unknown> {
  const flat: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(record)) {
    if (isObject(value) && Object.keys(value).length > 0)
      Object.assign(flat, flatten(value, `${prefix}${name}.`))
    else flat[`${prefix}${name}`] = value
  }
  return flat
}

/** Returns all dotted names of records, in the order they first appear. */
export function namesOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(flatten(row))))]
}

/** Returns the columns of fields. The name of an object stands for all of its fields. */
export function columnsOf(fields: readonly string[], names: readonly string[]): string[] {
  return fields.flatMap((field) => {
    const inner = names.filter((name) => name.startsWith(`${field}.`))
    return inner.length === 0 ? [field] : inner
  })
}

/** Returns only the named fields of a record. Objects keep their shape. */
export function pickFields(record: Row, fields: readonly string[]): Row {
  const result: Record<string, unknown> = {}
  for (const field of fields) place(result, field.split('.'), valueAt(record, field) ?? null)
  return result
}

function place(target: Record<string, unknown>, [head = '', ...rest]: readonly string[], value: unknown) {
  const there = Object.hasOwn(target, head) ? target[head] : undefined
  const next = rest.length === 0 ? value : isObject(there) ? there : {}
  // Assigning to a field named `__proto__` would change the prototype.
  Object.defineProperty(target, head, { value: next, enumerable: true, writable: true, configurable: true })
  if (rest.length > 0) place(next as Record<string, unknown>, rest, value)
}

/** Returns fields of a stored thing as commands print them. */
export const toView = <T extends object>(stored: T, names: readonly (keyof T & string)[]): Row =>
  Object.fromEntries(names.map((name) => printedField(name, stored[name])))

/** Returns a field in snake case, and the moment in `createdAt`, `at` and their like as ISO time. */
function printedField(name: string, value: unknown): [string, unknown] {
  const isMoment = /(?:^a|A)t$/.test(name) && typeof value === 'number'
  const printed = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return [printed, isMoment ? new Date(value).toISOString() : value]
}

/** Returns a whole result with its fields as they are printed. */
export const toPrinted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toPrinted)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, held]) => printedField(name, toPrinted(held))))
}

export function columnsOfKind(kind: EventKind): readonly string[] {
  if (kind === 'lead_search') return ['lead.full_name', 'lead.title', 'company.name']
  if (kind === 'contact_enrichment') return ['first_name', 'last_name', 'email', 'email_status', 'phone']
  return ['name', 'domain', 'industry', 'headcount', 'country']
}

interface Bar {
  readonly label: string
  readonly value: number
  readonly note?: string
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const maxBarWidth = 40

/** Returns lines of name, value and a bar whose length is the value's share of the greatest one. */
export function bars(all: readonly Bar[], look: Look): string {
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf))
  const labels = all.map(({ label }) => cutEnd(label, Math.floor(look.width / 3), look))
  const values = all.map(({ value }) => formatNumber(value))
  const notes = all.map(({ note = '' }) => note)
  const [labelWidth, valueWidth, noteWidth] = [widest(labels), widest(values), widest(notes)]
  const beside = labelWidth + valueWidth + 4 + (noteWidth > 0 ? noteWidth + 2 : 0)
  const room = Math.max(1, Math.min(maxBarWidth, look.width - beside))
  const most = Math.max(1, ...all.map(({ value }) => value))
  const lines = all.map(({ value }, at) => {
    const parts = [
      (labels[at] ?? '') + ' '.repeat(labelWidth - widthOf(labels[at] ?? '')),
      (values[at] ?? '').padStart(valueWidth),
      ...(noteWidth > 0 ? [(notes[at] ?? '').padStart(noteWidth)] : []),
      look.green(bar(value / most, room, look)),
    ]
    return `${parts.join('  ').trimEnd()}\n`
  })
  return lines.join('')
}

/** Returns a bar for a share of a width; what is above 0 is seen. */
function bar(share: number, width: number, { isAscii }: Look): string {
  const length = Math.max(0, share) * width
  if (isAscii) return '#'.repeat(share > 0 ? Math.max(1, Math.round(length)) : 0)
  const parts = share > 0 ? Math.max(1, Math.round(length * 8)) : 0
  return '█'.repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? '')
}

/** Returns values as a line of small columns, from the least to the greatest; a value that is not known is a blank. */
export function sparkline(values: readonly (number | null)[], { isAscii }: Pick<Look, 'isAscii'>): string {
  const signs = isAscii ? ['_', '.', '-', '=', '^'] : ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
  const known = values.filter((value) => value !== null)
  const [least, most] = [Math.min(...known), Math.max(...known)]
  const middle = Math.floor(signs.length / 2)
  return values
    .map((value) => {
      if (value === null) return ' '
      return signs[
        most === least ? middle : Math.round(((value - least) / (most - least)) * (signs.length - 1))
      ]
    })
    .join('')
    .trimEnd()
}
