import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GrowthFilters } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { tries } from '../../support/effort.js'
import { companyMatches } from '../naive.js'
import { openWith, stillClock } from '../open.js'
import { companyFilters, few, population, sharedOf } from '../population.js'
import { numberOf, searchesBy, seed, walked, withEach } from '../walk.js'

const now = stillClock.now()
const search = (filters: GrowthFilters) => ({ kind: 'growth', filters }) as const

const entry = fc.record({
  date: fc.constantFrom('2026-03-01', '2026-02-01', '2025-03-20', '2025-03-01', '2025-02-10', '2024-02-29'),
  department: fc.constantFrom('All', 'Sales', 'Human Resources'),
  headcount: fc.constantFrom(0, 8, 9, 10, 11, 20),
})
const histories = fc.array(fc.array(entry, { maxLength: 10 }), { minLength: 6, maxLength: 6 })

const percentages = fc.constantFrom(-100, -20, 0, 10, 11, 25, 120)
const ranges = fc.record(
  {
    min_headcount_growth_percentage: percentages,
    max_headcount_growth_percentage: percentages,
    min_department_headcount: fc.constantFrom(0, 9, 10),
    max_department_headcount: fc.constantFrom(8, 10, 20),
    min_department_headcount_growth_percentage: percentages,
    max_department_headcount_growth_percentage: percentages,
  },
  { requiredKeys: [] },
)
const filters = fc
  .tuple(fc.constantFrom('Sales', '25', 'human resources'), few(ranges), few(companyFilters, 2))
  .filter(([, ranges]) => Object.keys(ranges).length > 0)
  .map(([department, ranges, of]) => ({
    ...ranges,
    ...(Object.keys(ranges).some((name) => name.includes('department')) && { department }),
    ...sharedOf(of),
  }))

interface Figures {
  readonly headcount: number
  readonly growth: number | null
}

/** What the catalogue answers of a company's departments, by their names in small letters. */
async function figuresOf(
  catalogue: Catalogue,
  { domain }: Fields,
): Promise<Readonly<Record<string, Figures>>> {
  const departments = Object.entries((await catalogue.headcount({ domain: String(domain) }, [])) ?? {})
  const figures = departments.map(([name, now]) => [
    name.toLowerCase(),
    {
      headcount: now.current_headcount,
      growth: now['12_months_evolution']?.headcount_gain_percentage ?? null,
    },
  ])
  return Object.fromEntries(figures)
}

const within = (value: number | null | undefined, min = -Infinity, max = Infinity): boolean =>
  (min === -Infinity && max === Infinity) ||
  (value !== null && value !== undefined && value >= min && value <= max)

const departmentOf = ({ department }: GrowthFilters): string =>
  department === '25' ? 'sales' : (department ?? 'all').toLowerCase()

function matches(
  company: Fields,
  figures: Readonly<Record<string, Figures>>,
  filters: GrowthFilters,
): boolean {
  const [all, own] = [figures.all, figures[departmentOf(filters)]]
  return (
    companyMatches(company, filters) &&
    within(all?.growth, filters.min_headcount_growth_percentage, filters.max_headcount_growth_percentage) &&
    within(
      own?.growth,
      filters.min_department_headcount_growth_percentage,
      filters.max_department_headcount_growth_percentage,
    ) &&
    within(own?.headcount, filters.min_department_headcount, filters.max_department_headcount)
  )
}

describe('a search by growth', () => {
  it('finds each matching company exactly once, and counts them', async () => {
    await fc.assert(
      fc.asyncProperty(population, histories, searchesBy(filters, 30), async (given, histories, searches) => {
        const companies = withEach(given.companies, histories, (headcount_history) => ({ headcount_history }))
        const catalogue = await openWith(companies)
        const figures = await Promise.all(companies.map((company) => figuresOf(catalogue, company)))
        for (const [filters, steps] of searches) {
          const expected = companies.flatMap((company, at) =>
            matches(company, figures[at] ?? {}, filters) ? [at] : [],
          )
          const found = await walked(catalogue, search(filters), steps)
          expect(found.map(numberOf).sort(), JSON.stringify(filters)).toEqual(expected)
          for (const { account } of found)
            expect(account.headcount_growth_percentage).toBe(
              figures[numberOf({ account })]?.all?.growth ?? null,
            )
          expect(await catalogue.count(search(filters), now)).toBe(expected.length)
        }
        await catalogue.close()
      }),
      { numRuns: tries(2, 12), seed },
    )
  })

  const grown = (number: number, before: number, after: number, sales?: number): Fields => ({
    domain: `c${number}.example`,
    headcount_history: [
      { date: '2025-03-01', headcount: before },
      { date: '2026-03-01', headcount: after },
      ...(sales === undefined ? [] : [{ date: '2026-03-01', headcount: sales, department: 'Sales' }]),
    ],
  })
  const numbers = async (catalogue: Catalogue, filters: GrowthFilters) =>
    (await walked(catalogue, search(filters), [1])).map(numberOf)

  const human = {
    domain: 'c1.example',
    headcount_history: [
      { date: '2025-03-01', headcount: 10, department: 'human resources' },
      { date: '2026-03-01', headcount: 12, department: 'Human Resources' },
    ],
  }
  const twenty = { min_department_headcount_growth_percentage: 20 }
  it.each<[string, readonly Fields[], object, number[]]>([
    [
      'the fastest-growing company first',
      [grown(1, 10, 12), grown(2, 100, 300), grown(3, 10, 12), grown(4, 10, 11)],
      { min_headcount_growth_percentage: 15 },
      [2, 1, 3],
    ],
    [
      'the largest department first when only its size is filtered',
      [grown(1, 9, 9, 3), grown(2, 9, 9, 7), grown(3, 9, 9, 7), grown(4, 9, 9)],
      { department: 'Sales', min_department_headcount: 1 },
      [2, 3, 1],
    ],
    ['a department in any spelling', [human], { department: 'HUMAN RESOURCES', ...twenty }, [1]],
    ['a department by its id', [human], { department: '12', ...twenty }, [1]],
  ])('returns %s', async (_, companies, filters, expected) => {
    const catalogue = await openWith(companies)
    expect(await numbers(catalogue, filters)).toEqual(expected)
    await catalogue.close()
  })

  it('follows additions to the history', async () => {
    const catalogue = await openWith([grown(1, 10, 12)])
    await catalogue.importRecords('companies', [
      { domain: 'c1.example', headcount_history: [{ date: '2026-03-02', headcount: 5 }] },
    ])
    expect(await numbers(catalogue, { max_headcount_growth_percentage: -50 })).toEqual([1])
    await catalogue.close()
  })
})
