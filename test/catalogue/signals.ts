import fc from 'fast-check'
import type { Fields } from '../../src/api/values/objects.js'

/** Limits of spans, in turns. */
export const limits = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })

/** Seed of the randomised tests, printed by a failing one. */
export const seed = Number(process.env.SEED ?? 20_260_310)

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
