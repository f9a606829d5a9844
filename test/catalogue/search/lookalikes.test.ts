import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LookalikeFilters, Similarity } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { similarityScale, weights } from '../../../src/catalogue/search/lookalikes.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { companyMatches } from '../naive.js'
import { openWith, stillClock } from '../open.js'
import { companyFilters, few, population, sharedOf } from '../population.js'
import { expectFound, numberOf, searchesBy, seed, withEach } from '../walk.js'

const { growthPoints, minScore, sizeFactor } = similarityScale

const now = stillClock.now()
const search = (filters: LookalikeFilters) => ({ kind: 'lookalikes', filters }) as const
const profile = (number: number) => `https://www.network.example/company/${number}`

const slugs = ['react', 'go', 'sap']
const added = fc.record({
  technologies: fc.subarray(slugs),
  before: fc.option(fc.constantFrom(10, 12, 16, 20), { nil: undefined }),
})

const withAdded = ({
  technologies,
  before,
}: {
  technologies: string[]
  before: number | undefined
}): Fields => ({
  technologies,
  headcount_history:
    before === undefined
      ? []
      : [
          { date: '2026-03-01', headcount: 20 },
          { date: '2025-03-01', headcount: before },
        ],
})

interface Traits {
  readonly industry: string | undefined
  readonly headcount: number | undefined
  readonly country: unknown
  readonly technologies: readonly string[]
  readonly growth: number | undefined
}

function traitsOf(company: Fields): Traits {
  const usual: Readonly<Record<string, number>> = { 'Self-employed': 1, '1-10': 5, '11-50': 25 }
  const [after, before] = company.headcount_history as { headcount: number }[]
  return {
    industry: (company.industry ?? company.industry_id) as string | undefined,
    headcount: (company.headcount ?? usual[String(company.employee_range)]) as number | undefined,
    country: company.country,
    technologies: company.technologies as readonly string[],
    growth: after && before && Math.round((after.headcount / before.headcount - 1) * 100),
  }
}

/** How much a company resembles another one; the weights are those of the documentation. */
function similarity(companies: readonly Fields[], example: Fields, other: Fields): Similarity {
  const [one, two] = [traitsOf(example), traitsOf(other)]
  const users = (slug: string) =>
    companies.filter(({ technologies }) => (technologies as string[]).includes(slug)).length
  const rarity = (some: readonly string[]) =>
    some.reduce((sum, slug) => sum + Math.log(1 + companies.length / users(slug)), 0)
  const shared = one.technologies.filter((slug) => two.technologies.includes(slug))
  const together = [...new Set([...one.technologies, ...two.technologies])]
  const apart = (a: number, b: number) => Math.abs(Math.log10(a / b))
  const parts = {
    industry: one.industry && companyMatches(other, { included_industries: [one.industry] }) ? 1 : 0,
    size: one.headcount && two.headcount ? Math.max(0, 1 - apart(one.headcount, two.headcount)) : 0,
    country: one.country !== undefined && one.country === two.country ? 1 : 0,
    technologies: shared.length === 0 ? 0 : rarity(shared) / rarity(together),
    growth:
      one.growth === undefined || two.growth === undefined
        ? 0
        : Math.max(0, 1 - Math.abs(one.growth - two.growth) / 50),
  }
  const weights = {
    industry: one.industry === undefined ? 0 : 0.35,
    size: one.headcount === undefined ? 0 : 0.2,
    country: one.country === undefined ? 0 : 0.1,
    technologies: one.technologies.length === 0 ? 0 : 0.25,
    growth: one.growth === undefined ? 0 : 0.1,
  }
  const aspects = ['industry', 'size', 'country', 'technologies', 'growth'] as const
  const known = aspects.reduce((sum, aspect) => sum + weights[aspect], 0)
  const score = aspects.reduce((sum, aspect) => sum + weights[aspect] * parts[aspect], 0) / known
  return { score: known < 0.5 - 1e-9 ? 0 : score, ...parts }
}

describe('a search for lookalikes', () => {
  it('finds each similar company exactly once, the most similar first, and counts them', async () => {
    const examples = fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 })
    const more = fc.array(added, { minLength: 6, maxLength: 6 })
    const searches = searchesBy(fc.tuple(examples, few(companyFilters, 1)), 20)
    await fc.assert(
      fc.asyncProperty(more, population, searches, async (more, given, searches) => {
        const companies = withEach(given.companies, more, withAdded)
        const catalogue = await openWith(companies)
        for (const [[numbers, of], steps] of searches) {
          const filters: LookalikeFilters = {
            company_network_urls: numbers.map(profile),
            ...sharedOf(of),
          }
          const expected = companies
            .map((company, at) => {
              const alike = numbers.map((number) => similarity(companies, companies[number] ?? {}, company))
              return { at, company, score: Math.max(...alike.map(({ score }) => score)) }
            })
            .filter(({ at, company }) => !numbers.includes(at) && companyMatches(company, sharedOf(of)))
            .filter(({ score }) => Math.round(score * 10_000) >= 6_000)
            .sort(
              (one, other) =>
                Math.round(other.score * 10_000) - Math.round(one.score * 10_000) || one.at - other.at,
            )
          const ranked = expected.map(({ at }) => at)
          const found = await expectFound(catalogue, search(filters), steps, numberOf, ranked)
          for (const [place, { account, similarity }] of found.entries()) {
            expect(similarity.score).toBeCloseTo(expected[place]?.score ?? 0, 4)
            expect(account.similarity_score).toBe(similarity.score)
          }
        }
        await catalogue.close()
      }),
      { numRuns: tries(2, 15), seed },
    )
  })

  describe('of several companies', () => {
    const company = (number: number, more: Fields): Fields => ({
      domain: `c${number}.example`,
      network_id: String(number),
      ...more,
    })
    const base = { industry_id: '96', headcount: 100, country: 'FR', technologies: ['go', 'sap'] }
    const grew = {
      headcount_history: [
        { date: '2026-03-01', headcount: 12 },
        { date: '2025-03-01', headcount: 10 },
      ],
    }
    const catalogue = perFile(() =>
      openWith([
        company(0, { ...base, ...grew }),
        company(1, { ...base, ...grew }),
        company(2, { ...base, headcount: 200, technologies: ['go'] }),
        company(3, { ...base, industry_id: '43', technologies: [] }),
        company(4, { country: 'FR', headcount: 100 }),
      ]),
    )
    const found = async (filters: LookalikeFilters) =>
      (await catalogue.find(search(filters), { limit: 9, now })).records

    it('returns the similarity by aspect', async () => {
      const [twin, sibling, ...more] = await found({ company_network_url: profile(0) })
      expect(twin?.similarity).toEqual({
        score: 1,
        industry: 1,
        size: 1,
        country: 1,
        technologies: 1,
        growth: 1,
      })
      expect(sibling?.similarity).toMatchObject({ industry: 1, size: 0.699, country: 1, growth: 0 })
      expect(sibling?.similarity.technologies).toBeGreaterThan(0.3)
      expect(sibling?.similarity.technologies).toBeLessThan(0.6)
      expect(more).toEqual([])
    })

    it('excludes the given companies, also when one is given twice', async () => {
      const urls = [profile(0), profile(1), profile(1)]
      expect((await found({ company_network_urls: urls })).map(numberOf)).toEqual([2])
    })

    it('uses the known ones, as long as there is one', async () => {
      expect((await found({ company_network_urls: [profile(9), profile(0)] })).map(numberOf)).toEqual([1, 2])
    })

    it('finds nothing similar to a company with hardly any data', async () => {
      expect(await found({ company_network_url: profile(4) })).toEqual([])
    })

    it('is refused when none of them is known', async () => {
      const unknown = search({ company_network_urls: [profile(8), profile(9)] })
      await expect(catalogue.count(unknown, now)).rejects.toMatchObject({
        status: 404,
        code: 'no_company_found',
      })
      await expect(catalogue.find(unknown, { limit: 1, now })).rejects.toMatchObject({ status: 404 })
    })
  })

  it('uses the weights that docs/matching.md states', () => {
    const text = readFileSync(new URL('../../../docs/matching.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/^\| `(\w+)` \| ([\d.]+) \|/gm)]
    expect(Object.fromEntries(rows.map(([, aspect, weight]) => [aspect, Number(weight)]))).toEqual(weights)
    expect(text).toContain(`with a score of ${minScore} or more`)
    expect([sizeFactor, growthPoints]).toEqual([10, 50])
  })
})
