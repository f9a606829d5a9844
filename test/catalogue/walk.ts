import fc from 'fast-check'
import { expect } from 'vitest'
import type { RecordOf, Search, SearchKind, Source } from '../../src/api/ports/ports.js'
import type { Fields } from '../../src/api/values/objects.js'
import { stillClock } from './open.js'

/** Limits of spans, in turns. */
export const limits = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })

/** Seed of the randomised tests, printed by a failing one. */
export const seed = Number(process.env.SEED ?? 20_260_310)

/** So many searches, each with the limits of its spans. */
export const searchesBy = <Filters>(filters: fc.Arbitrary<Filters>, length: number, spans = limits) =>
  fc.array(fc.tuple(filters, spans), { minLength: length, maxLength: length })

/** The number of a company of the random populations, by its domain. */
export const numberOf = ({ account }: { readonly account: { readonly domain: string | null } }): number =>
  Number(account.domain?.match(/\d+/)?.[0])

/** Companies of a population with something added to each, by their numbers. */
export const withEach = <T>(
  companies: readonly Fields[],
  more: readonly T[],
  add: (one: T) => Fields,
): Fields[] =>
  companies.map((company, at) => {
    const one = more[at]
    return one === undefined ? company : { ...company, ...add(one) }
  })

type Searched = Pick<Source, 'find' | 'count'>

/** All records of a search, by spans of the limits given in turns. Fails where a span is longer, or empty before the end. */
export async function walked<K extends SearchKind>(
  catalogue: Pick<Source, 'find'>,
  search: Search<K>,
  limits: readonly number[] = [25],
): Promise<RecordOf<K>[]> {
  const records: RecordOf<K>[] = []
  let after: string | undefined
  for (let turn = 0; ; turn += 1) {
    const limit = limits[turn % limits.length] ?? 1
    const found = await catalogue.find(search, { limit, after, now: stillClock.now() })
    if (found.records.length > limit) throw new Error(`${found.records.length} records instead of ${limit}`)
    records.push(...found.records)
    if (found.next === undefined) return records
    if (found.records.length < limit) throw new Error('a span that is not full, but not the last')
    after = found.next
  }
}

/** Fails unless a search finds what is expected in this order, however it is walked, and counts as much. */
export async function expectFound<K extends SearchKind, Seen>(
  catalogue: Searched,
  search: Search<K>,
  steps: readonly number[],
  see: (record: RecordOf<K>) => Seen,
  expected: readonly Seen[],
): Promise<RecordOf<K>[]> {
  const found = await walked(catalogue, search, steps)
  expect(found.map(see), JSON.stringify(search)).toEqual(expected)
  expect(await catalogue.count(search, stillClock.now())).toBe(expected.length)
  return found
}
