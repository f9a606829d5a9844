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

  it('follows changes of what a keyword is narrowed by, where no word changes', async () => {
    const company = { domain: 'acme.example', name: 'Acme', industry: 'Robotics' }
    const catalogue = await openWith([
      { ...company, country: 'FR', employee_range: '1-10' },
      { domain: 'other.example', name: 'Acme', country: 'DE', employee_range: '11-50', headcount: 20 },
    ])
    const found = async (filters: CompanyFilters) => {
      const asked = search({ keyword: 'acme', ...filters })
      const { records } = await catalogue.find(asked, { limit: 9, now })
      expect(await catalogue.count(asked, now)).toBe(records.length)
      return records.map(({ account }) => account.domain)
    }
    const [acme, other] = ['acme.example', 'other.example']
    expect(await found({})).toEqual([other, acme])
    expect(await found({ included_locations: ['FR'], company_size: ['1-10'] })).toEqual([acme])
    await catalogue.importRecords('companies', [
      { ...company, country: 'DE', employee_range: '11-50', headcount: 40 },
    ])
    expect(await found({})).toEqual([acme, other])
    expect(await found({ included_locations: ['FR'] })).toEqual([])
    expect(await found({ company_size: ['1-10'] })).toEqual([])
    expect(await found({ included_locations: ['DE'], company_size: ['11-50'] })).toEqual([acme, other])
    await catalogue.close()
  })

  it('finds an industry by its id and by its name, beside a keyword and without one', async () => {
    const catalogue = await openWith([
      { domain: 'both.example', name: 'Acme', industry: 'Software Development' },
      { domain: 'id.example', name: 'Acme', industry_id: '96' },
      { domain: 'own.example', name: 'Acme', industry_id: '96', industry: 'Apps' },
      { domain: 'unlike.example', name: 'Acme', industry_id: '4', industry: 'Software Development' },
      { domain: 'new.example', name: 'Acme', industry_id: '7777' },
      { domain: 'none.example', name: 'Acme' },
    ])
    const cases = [
      ['96', ['both', 'id', 'own']],
      ['software development', ['both', 'id', 'unlike']],
      ['apps', ['own']],
      ['4', ['unlike']],
      ['Automotive', []],
      ['7777', ['new']],
    ] as const
    for (const keyword of [{}, { keyword: 'acme' }])
      for (const [industry, expected] of cases) {
        const filters = search({ ...keyword, included_industries: [industry] })
        const { records } = await catalogue.find(filters, { limit: 9, now })
        expect([industry, records.map(({ account }) => account.domain)]).toEqual([
          industry,
          expected.map((name) => `${name}.example`),
        ])
      }
    await catalogue.close()
  })
})
