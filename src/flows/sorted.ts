import { parseExact, toJson } from '../api/values/json.js'
import type { Fields } from '../api/values/objects.js'
import { openSorted } from '../lists/sorted.js'
import { toCell } from '../runs/output/columns.js'
import { type FlowRow, fieldReader } from './fields.js'

/** A field that rows are sorted by. */
export interface SortKey {
  readonly field: string
  readonly isDescending: boolean
}

/** Returns what `headcount desc` says: a field, which may have spaces, and its direction. */
export function sortKeysOf(sort: string | readonly string[]): readonly SortKey[] {
  return [sort].flat().map((text) => {
    const [, field = text, direction = 'asc'] = /^(.*\S)\s+(asc|desc)$/i.exec(text.trim()) ?? []
    return { field: field.trim(), isDescending: direction.toLowerCase() === 'desc' }
  })
}

/** Opens a sort of the rows of a flow; `order` is that in which they have gone on before, because steps behind know them by it. */
export function openRowSort(keys: readonly SortKey[], order: readonly number[] | undefined) {
  const read = fieldReader(keys.map(({ field }) => field))
  const sorted = openSorted(
    keys.map(({ isDescending }) => isDescending),
    order,
  )
  return {
    ...sorted,
    add: ({ line, fields }: FlowRow): void =>
      sorted.add({ line, text: fields ? toJson(fields) : null }, read(fields ?? {}).map(comparable)),
    *rows(): Generator<readonly FlowRow[]> {
      for (const rows of sorted.rows())
        yield rows.map(({ line, text }) => ({
          line,
          fields: text === null ? undefined : (parseExact(text) as Fields),
        }))
    },
  }
}

/** Returns a value as it is compared: a number, also one that a file has as text, else a text without case and accents. */
function comparable(value: unknown): number | bigint | string | null {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return Number(value)
  const text = toCell(value).trim()
  if (text === '') return null
  if (/^[+-]?\d{1,15}(?:\.\d+)?$/.test(text)) return Number(text)
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
