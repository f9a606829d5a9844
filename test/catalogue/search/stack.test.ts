import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StackFilters } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { companyMatches, largestFirst } from '../naive.js'
import { openWith, stillClock } from '../open.js'
import { companyFilters, few, population } from '../population.js'
import { expectFound, numberOf, searchesBy, seed, withEach } from '../walk.js'

const now = stillClock.now()
const search = (filters: Partial<StackFilters>) =>
  ({ kind: 'stack', filters: { stack_match: 'or', ...filters } }) as const

const slugs = ['react', 'node.js', 'c++', 'sap']
const stack = fc.subarray(slugs)
const asked = fc.array(fc.constantFrom(...slugs, 'React', 'ghost'), { maxLength: 3 })
const filters = fc.record(
  {
    stacks: asked,
    excluded_stacks: asked,
    stack_match: fc.constantFrom('or', 'and'),
    countries: fc.subarray(['FR', 'JP']),
    companies: few(companyFilters),
  },
  { requiredKeys: ['companies', 'stack_match'] },
)

/** What the filters of a company search share with those of a stack search. */
const shared = ({ included_industries, excluded_industries, company_size }: Partial<StackFilters>) => ({
  ...(included_industries && { included_industries }),
  ...(excluded_industries && { excluded_industries }),
  ...(company_size && { company_size }),
})

function matches(company: Fields, filters: Partial<StackFilters>): boolean {
  const { stacks = [], stack_match, excluded_stacks = [], ...rest } = filters
  const used = company.technologies as readonly string[]
  const uses = (slug: string) => used.includes(slug.toLowerCase())
  const fits = stack_match === 'and' ? stacks.every(uses) : stacks.length === 0 || stacks.some(uses)
  const inCountry = !rest.countries?.length || rest.countries.includes(String(company.country))
  return fits && !excluded_stacks.some(uses) && inCountry && companyMatches(company, shared(rest))
}

describe('a search by technologies', () => {
  it('finds each matching company exactly once, the largest first, and counts them', async () => {
    const stacks = fc.array(stack, { minLength: 6, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(population, stacks, searchesBy(filters, 30), async (given, stacks, searches) => {
        const companies = withEach(given.companies, stacks, (technologies) => ({ technologies }))
        const catalogue = await openWith(companies)
        for (const [{ companies: of, ...own }, steps] of searches) {
          const filters = { ...shared(of), ...own }
          const expected = largestFirst(companies).filter((company) => matches(company, filters))
          const numbers = expected.map((company) => companies.indexOf(company))
          await expectFound(catalogue, search(filters), steps, numberOf, numbers)
        }
        await catalogue.close()
      }),
      { numRuns: tries(2, 15), seed },
    )
  })

  describe('returns the technologies found', () => {
    const detail = (slug: string, confidence: number) => ({ slug, confidence, job_mentions: 4 })
    const technology_details = [
      detail('sap', 0.49),
      detail('react', 0.5),
      detail('go', 0.79),
      detail('c++', 0.8),
    ]
    const catalogue = perFile(() =>
      openWith([
        { domain: 'acme.example', technology_details },
        { domain: 'bare.example', country: 'FR' },
      ]),
    )

    const found = async (filters: Partial<StackFilters>) =>
      (await catalogue.find(search(filters), { limit: 9, now })).records

    it('among the requested ones, by falling confidence', async () => {
      expect(await found({ stacks: ['sap', 'React', 'ghost'] })).toEqual([
        {
          account: await catalogue.company({ domain: 'acme.example' }),
          technologies_found: [
            { technology_name: 'React', confidence: 'medium', job_mentions: 4 },
            { technology_name: 'Sap', confidence: 'low', job_mentions: 4 },
          ],
        },
      ])
    })

    it('among all when none is requested', async () => {
      const [acme, bare] = await found({ excluded_stacks: ['ghost'] })
      expect(acme?.technologies_found.map(({ confidence }) => confidence)).toEqual(
        'high medium medium low'.split(' '),
      )
      expect(bare?.technologies_found).toEqual([])
    })
  })
})
