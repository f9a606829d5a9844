import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HiringFilters } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { companyMatches, holdsOne } from '../naive.js'
import { openWith, stillClock } from '../open.js'
import { few, population } from '../population.js'
import { expectFound, numberOf, searchesBy, seed, walked } from '../walk.js'

const now = stillClock.now()
const plain = { exclude_consulting_recruiting: false, exclude_internships: false }
const search = (filters: Partial<HiringFilters>) =>
  ({ kind: 'hiring', filters: { ...plain, ...filters } }) as const

const of = <T>(...values: readonly T[]) => fc.constantFrom(...values)
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })
const words = fc.array(of('Sales', 'Data', 'Engineer', 'Intern'), { minLength: 1, maxLength: 3 })
const job = fc.record({
  company: fc.nat(5),
  job_title: words.map((some) => some.join(' ')),
  description: maybe(words.map((some) => some.join(', '))),
  date_posted: maybe(of('2026-03-10', '2026-03-09', '2026-03-08', '2026-03-03', '2026-02-08', '2025-01-01')),
  place: of(
    {},
    {},
    { country_code: 'FR' },
    { country_code: 'DE' },
    { country_code: 'FR', job_location: 'Lyon, France' },
  ),
  employment_statuses: maybe(of(['Full-time'], ['Internship'], ['Part-time', 'Stage'])),
})
const jobs = fc.array(job, { minLength: 20, maxLength: 20 })

const phrases = fc.array(of('sales', 'data engineer', 'INTERN', 'welder'), { minLength: 1, maxLength: 2 })
const windows = {
  last_24_hours: 1,
  last_7_days: 7,
  last_15_days: 15,
  last_30_days: 30,
  last_90_days: 90,
} as const
const filters = fc.record(
  {
    selected_keywords: phrases,
    excluded_keywords: phrases,
    selected_titles: phrases,
    excluded_titles: phrases,
    exclude_internships: fc.boolean(),
    job_min_posted: of(1, 2, 3),
    published_date: of(...(Object.keys(windows) as (keyof typeof windows)[])),
    company_size: of<NonNullable<HiringFilters['company_size']>>(['1-10'], ['11-50', '1-10']),
    included_industries: of(['96'], ['education', '43']),
    included_locations: of(['FR'], ['Lyon, France', 'JP'], ['DE']),
    excluded_locations: of(['FR'], ['geo:FR.84'], ['DE']),
  },
  { requiredKeys: [] },
)

type GivenJob = Fields & {
  job_title: string
  job_url: string
  description?: string
  date_posted?: string
  country_code?: string
}

/** Whether a job matches, one filter after the other. */
function matches(job: GivenJob, company: Fields, filters: Partial<HiringFilters>): boolean {
  const place = job.country_code
    ? { country: job.country_code, city: String(job.job_location ?? '').split(',')[0] }
    : { country: company.country, city: company.city }
  const { published_date, included_locations, excluded_locations, company_size, included_industries } =
    filters
  const since = new Date(now - (windows[published_date as keyof typeof windows] ?? 0) * 86_400_000)
  const statuses = (job.employment_statuses ?? []) as readonly string[]
  const checks: boolean[] = [
    !filters.selected_titles || holdsOne(job.job_title, filters.selected_titles),
    !holdsOne(job.job_title, filters.excluded_titles ?? []),
    !filters.selected_keywords || holdsOne(job.description, filters.selected_keywords),
    !holdsOne(job.description, filters.excluded_keywords ?? []),
    !published_date || (job.date_posted ?? '') >= since.toISOString().slice(0, 10),
    !filters.exclude_internships ||
      !(holdsOne(job.job_title, ['intern']) || statuses.includes('Internship') || statuses.includes('Stage')),
    companyMatches(place, {
      ...(included_locations && { included_locations }),
      ...(excluded_locations && { excluded_locations }),
    }),
    companyMatches(company, {
      ...(company_size && { company_size }),
      ...(included_industries && { included_industries }),
    }),
  ]
  return checks.every(Boolean)
}

const urlOf = ({ job_url }: { readonly job_url: unknown }) => job_url
const newestFirst = (one: GivenJob, other: GivenJob): number =>
  (other.date_posted ?? '').localeCompare(one.date_posted ?? '') || Number(other.number) - Number(one.number)

/** A job of a company of the population. */
const jobOf = (company: number, number: number, job_title: string): Fields => ({
  job_title,
  job_url: `https://jobs.example/${number}`,
  company_domain: `c${company}.example`,
})

describe('a search by jobs', () => {
  it('finds each hiring company exactly once, with its jobs, the newest first, and counts them', async () => {
    const searches = searchesBy(few(filters), 30)
    await fc.assert(
      fc.asyncProperty(jobs, population, searches, async (some, { companies }, searches) => {
        const given = some.map(({ place, company, ...job }, number) => ({
          ...jobOf(company, number, job.job_title),
          ...job,
          ...place,
          number,
        })) as unknown as GivenJob[]
        const catalogue = await openWith(companies, { jobs: given })
        for (const [filters, steps] of searches) {
          const expected = companies
            .map((company, at) => ({
              at,
              jobs: given
                .filter((job) => job.company_domain === company.domain && matches(job, company, filters))
                .sort(newestFirst),
            }))
            .filter(({ jobs }) => jobs.length >= (filters.job_min_posted ?? 1))
            .sort(({ jobs: [one] }, { jobs: [other] }) => (one && other ? newestFirst(one, other) : 0))
          await expectFound(
            catalogue,
            search(filters),
            steps,
            (record) => [numberOf(record), record.account.job_count, record.jobs.map(urlOf)],
            expected.map(({ at, jobs }) => [at, jobs.length, jobs.map(urlOf)]),
          )
        }
        await catalogue.close()
      }),
      { numRuns: tries(2, 15), seed },
    )
  })

  describe('excludes', () => {
    const firms: readonly [firm: Fields, job_title: string][] = [
      [{ name: 'Lumen Conseil', industry: 'Utilities' }, 'Stage - Marketing'],
      [{ name: 'Birch', industry: 'Staffing and Recruiting' }, 'Stage Manager'],
      [{ name: 'Cedar', industry_id: '11' }, 'Alternance RH'],
      [{ name: 'Consulted Foods', industry: 'Retail' }, 'Internal Auditor'],
      [{ name: 'Dune' }, 'Working Student Sales'],
    ]
    const companies = firms.map(([firm], at) => ({ domain: `c${at}.example`, ...firm }))
    const jobs = firms.map(([, job_title], at) => jobOf(at, at, job_title))
    const catalogue = perFile(() => openWith(companies, { jobs }))

    const numbers = async (filters: Partial<HiringFilters>) =>
      (await walked(catalogue, search(filters))).map(numberOf).sort()

    it('consulting and recruiting companies, by their industry or their name', async () => {
      expect(await numbers({ exclude_consulting_recruiting: true })).toEqual([3, 4])
    })

    it('internships in several languages, and no similar titles', async () => {
      expect(await numbers({ exclude_internships: true })).toEqual([1, 3])
    })
  })

  it('returns at most a hundred jobs of a company, and the number of all', async () => {
    const jobs = Array.from({ length: 101 }, (_, number) => jobOf(0, number, 'Clerk'))
    const catalogue = await openWith([{ domain: 'c0.example' }], { jobs })
    const [record, ...more] = await walked(catalogue, search({}))
    expect([record?.account.job_count, record?.jobs.length, record?.jobs[0]?.job_url, more]).toEqual([
      101,
      100,
      'https://jobs.example/100',
      [],
    ])
    await catalogue.close()
  })
})
