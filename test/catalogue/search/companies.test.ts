import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CompanyFilters } from '../../../src/api/ports/ports.js'
import { tries } from '../../support/effort.js'
import { companyMatches, largestFirst } from '../naive.js'
import { openWith, stillClock } from '../open.js'
import { companyFilters, few, population } from '../population.js'
import { expectFound, numberOf, searchesBy, seed } from '../walk.js'

const now = stillClock.now()
const search = (filters: CompanyFilters) => ({ kind: 'companies', filters }) as const

describe('a search of companies', () => {
  it('finds each match exactly once, the largest first, and counts them', async () => {
    await fc.assert(
      fc.asyncProperty(population, searchesBy(few(companyFilters), 50), async ({ companies }, searches) => {
        const catalogue = await openWith(companies)
        for (const [filters, steps] of searches) {
          const expected = largestFirst(companies).filter((company) => companyMatches(company, filters))
          const numbers = expected.map((company) => companies.indexOf(company))
          await expectFound(catalogue, search(filters), steps, numberOf, numbers)
        }
        await catalogue.close()
      }),
      { numRuns: tries(1, 8), seed },
    )
  })

  it('continues after the same company when others are added before and after it', async () => {
    const company = (number: number, headcount: number) => ({
      domain: `c${number}.example`,
      headcount,
      country: 'FR',
    })
    const catalogue = await openWith([company(1, 90), company(2, 50), company(3, 50), company(4, 10)])
    const french = search({ included_locations: ['FR'] })
    const first = await catalogue.find(french, { limit: 2, now })
    await catalogue.importRecords('companies', [company(5, 95), company(6, 50), company(7, 20)])
    const rest = await catalogue.find(french, { limit: 9, now, ...(first.next && { after: first.next }) })
    expect([...first.records, ...rest.records].map(({ account }) => account.domain)).toEqual(
      [1, 2, 3, 6, 7, 4].map((number) => `c${number}.example`),
    )
    await catalogue.close()
  })

  it('returns accounts with every key', async () => {
    const catalogue = await openWith([{ domain: 'acme.example', country: 'FR' }])
    const { records } = await catalogue.find(search({ included_locations: ['FR'] }), { limit: 1, now })
    expect(records).toEqual([{ account: await catalogue.company({ domain: 'acme.example' }) }])
    await catalogue.close()
  })

  it('follows changes of a company', async () => {
    const company = { domain: 'acme.example', name: 'Acmé' }
    const [before, after] = [
      { ...company, industry: 'Robotics', country: 'FR', description: 'robot arms' },
      { ...company, industry: 'Education', country: 'DE', description: 'coffee' },
    ]
    const catalogue = await openWith([before])
    const count = (filters: CompanyFilters) => catalogue.count(search(filters), now)
    expect(await count({ keyword: 'acme AND robot' })).toBe(1)
    await catalogue.importRecords('companies', [after])
    expect(await count({ included_industries: ['robotics'] })).toBe(0)
    expect(await count({ keyword: 'robot' })).toBe(0)
    const filters = { included_industries: ['12'], included_locations: ['DE'], keyword: 'acme AND coffee' }
    expect(await count(filters)).toBe(1)
    await catalogue.close()
  })
})
