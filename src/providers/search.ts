import type { VendorReply } from '../api/ports/ports.js'
import { toCanonicalJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { splitPersonName } from '../identity/name.js'
import type { CompiledSearch } from './compile.js'
import { searchKinds } from './definition.js'
import { readResult } from './subject.js'

/** What a search has brought, page by page, and why it ended before its limit where that says nothing about the vendor. */
export interface Searched {
  readonly rows: readonly Fields[]
  readonly pages: number
  /** Why a page did not come: it was not asked for, or its answer is lost. */
  readonly stopped?: Omit<VendorReply, 'name' | 'fields'>
}

/**
 * Reads pages until there are so many rows, no page says which comes next, or one is empty or repeated: then there are no more.
 */
export async function searchPages(
  { first, of }: Pick<CompiledSearch, 'first' | 'of'>,
  ask: (words: Fields) => Promise<Omit<VendorReply, 'name'>>,
  query: Fields,
  limit: number,
): Promise<Searched> {
  const rows: Fields[] = []
  const cursors = new Set<unknown>([first])
  const known = new Set<string>()
  let next = first
  for (let pages = 0; ; pages++) {
    const { is, why, fields } = await ask(next === undefined ? query : { ...query, next })
    if (is === 'not_found') return { rows, pages }
    if (is !== 'found') return { rows, pages, stopped: { is, ...(why === undefined ? {} : { why }) } }
    const { items, next: after } = (fields ?? {}) as {
      readonly items: readonly Fields[]
      readonly next: unknown
    }
    const content = toCanonicalJson(items)
    if (known.has(content)) return { rows, pages }
    known.add(content)
    for (const item of items) {
      const row = toRow(of, item)
      if (row) rows.push(row)
      if (rows.length === limit) return { rows, pages: pages + 1 }
    }
    if (typeof after !== 'string' || after === '' || cursors.has(after)) return { rows, pages: pages + 1 }
    cursors.add(after)
    next = after
  }
}

/** Returns an item as the row of a flow; `undefined` of one without a value. */
function toRow(of: CompiledSearch['of'], item: Fields): Fields | undefined {
  const found = readResult(searchKinds[of], item, {})
  if (!isObject(found)) return undefined
  const { company_name, company_domain, phone, ...own } = found
  const [number] = Array.isArray(phone) ? phone : []
  const { first_name, last_name, full_name } = own
  const isWhole = typeof full_name === 'string' && first_name === undefined && last_name === undefined
  const [first, last] = (isWhole && splitPersonName(full_name)) || []
  return {
    ...own,
    // Lookups ask with both.
    ...(last === undefined ? {} : { last_name: last, ...(first === undefined ? {} : { first_name: first }) }),
    ...(isObject(number) ? { phone: number.number } : {}),
    ...(company_name === undefined && company_domain === undefined
      ? {}
      : { company: { name: company_name ?? null, domain: company_domain ?? null } }),
  }
}
