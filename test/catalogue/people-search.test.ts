import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Catalogue } from '../../src/catalogue/catalogue.js'
import type { PeopleFilters } from '../../src/engine/ports.js'
import { personMatches } from './naive.js'
import { openEmpty, stillClock } from './open.js'
import { few, type Population, peopleFilters, population } from './population.js'
import { walked } from './walk.js'

const now = stillClock.now()
const limits = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })

async function filled({ companies, people }: Population): Promise<Catalogue> {
  const catalogue = await openEmpty()
  expect((await catalogue.importRecords('companies', companies)).rejected).toEqual([])
  expect((await catalogue.importRecords('people', people)).rejected).toEqual([])
  return catalogue
}

/** Filters in which accounts stand by their ids. */
async function withIds(catalogue: Catalogue, filters: PeopleFilters): Promise<PeopleFilters> {
  const idsOf = async (domains: readonly string[] | undefined) =>
    domains &&
    (await Promise.all(domains.map(async (domain) => (await catalogue.company({ domain }))?.id ?? '')))
  const [included_accounts, excluded_accounts] = [
    await idsOf(filters.included_accounts),
    await idsOf(filters.excluded_accounts),
  ]
  return {
    ...filters,
    ...(included_accounts && { included_accounts }),
    ...(excluded_accounts && { excluded_accounts }),
  }
}

const search = (filters: PeopleFilters) => ({ kind: 'people', filters }) as const

describe('a search of people', () => {
  it('finds each who matches exactly once, in one order, and counts them', async () => {
    const asked = fc.array(fc.tuple(few(peopleFilters), limits), { minLength: 60, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(population, asked, async (some, searches) => {
        const catalogue = await filled(some)
        for (const [filters, steps] of searches) {
          const expected = some.people.filter((person) => personMatches(person, some.companies, filters))
          const given = search(await withIds(catalogue, filters))
          const found = await walked(catalogue, given, steps)
          expect(
            found.map(({ lead }) => lead.network_profile_url),
            JSON.stringify(filters),
          ).toEqual(expected.map((person) => person.network_profile_url))
          expect(await catalogue.count(given, now)).toBe(expected.length)
        }
        await catalogue.close()
      }),
      { numRuns: 8 },
    )
  })
})
