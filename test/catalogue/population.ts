import fc from 'fast-check'
import type { CompanyFilters } from '../../src/api/ports/ports.js'
import {
  companySizes,
  companyTypes,
  functions,
  seniorities,
  years,
} from '../../src/api/schemas/enumerations.js'
import type { Fields } from '../../src/api/values/objects.js'

const places = [
  { country: 'FR', city: 'Lyon' },
  { country: 'FR', city: 'Nantes' },
  { country: 'DE', city: 'Berlin' },
  { country: 'JP' },
  {},
]
const industries = [
  { industry: 'Software Development', industry_id: '96' },
  { industry: 'Éducation' },
  { industry_id: '43' },
  { industry: 'automotive' },
  {},
]
const titleWords = ['Head', 'of', 'Sales', 'Engineer', 'Senior', 'Data']
const firstNames = ['Ada', 'Zoé', 'Bob']
const lastNames = ["O'Neil", 'Byron', 'Şahin']
const employers = ['Acme', 'Acme SARL', 'Nord Sûr', 'Other & Co']

const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })
const of = <T>(...values: readonly T[]) => fc.constantFrom(...values)
const titles = fc.array(of(...titleWords), { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
const lists = <T>(one: fc.Arbitrary<T>) => fc.uniqueArray(one, { minLength: 1, maxLength: 2 })
const days = of(
  '2026-03-10',
  '2026-03-11',
  '2025-03-10',
  '2025-03-11',
  '2023-03-10',
  '2012-02-29',
  '2027-01-01',
)

const company = fc.record({
  name: maybe(of(...employers)),
  place: of(...places),
  industry: of(...industries),
  company_type: maybe(of(...Object.values(companyTypes))),
  employee_range: maybe(of(...companySizes.slice(0, 3))),
  headcount: maybe(of(1, 5, 5, 40)),
  revenue: maybe(of(1_000_000, 2_500_000, 9_000_000)),
  revenue_currency: maybe(of('EUR', 'usd')),
  description: maybe(titles),
})

const person = fc.record({
  first_name: maybe(of(...firstNames)),
  last_name: maybe(of(...lastNames)),
  title: maybe(titles),
  headline: maybe(titles),
  summary: maybe(titles),
  place: of(...places),
  seniority: maybe(of(...Object.values(seniorities).slice(0, 3))),
  function: maybe(of(...Object.values(functions).slice(0, 3))),
  years_of_experience: maybe(of(0, 1, 2, 5, 6, 11)),
  started_at: maybe(days),
  years_in_position: maybe(of(0, 1, 3)),
  months_in_position: maybe(of(0, 11)),
  years_in_company: maybe(of(0, 2, 12)),
  months_in_company: maybe(of(0, 11)),
  past_positions: maybe(
    fc.array(
      fc.record({
        title: maybe(titles),
        company_name: maybe(of(...employers)),
        company_network_id: maybe(of('1', '2')),
      }),
      { maxLength: 2 },
    ),
  ),
  company: fc.nat(9),
})

/**
 * A few companies and people who share few words and values, so that random filters find some of them: companies from
 * `c0.example` and people from `p0`. Of the latter some name a company that is not there, some none.
 */
export const population: fc.Arbitrary<Record<'companies' | 'people', readonly Fields[]>> = fc
  .tuple(
    fc.array(company, { minLength: 6, maxLength: 6 }),
    fc.array(person, { minLength: 30, maxLength: 30 }),
  )
  .map(([companies, people]) => ({
    companies: companies.map(({ place, industry, ...given }, at) => ({
      domain: `c${at}.example`,
      network_id: String(at),
      ...place,
      ...industry,
      ...given,
    })),
    people: people.map(({ place, company: at, ...given }, number) => ({
      network_profile_url: `https://www.network.example/in/p${number}`,
      ...place,
      ...given,
      ...(at < 6 ? { company_domain: `c${at}.example` } : at < 8 ? { company_name: 'Nowhere Ltd' } : {}),
    })),
  }))

const locations = lists(of('FR', 'geo:FR.84', 'DE', 'JP', 'Lyon, France'))
const industriesAsked = lists(of('96', 'education', 'Financial Services', '4'))
const employersAsked = lists(of('acme', 'NORD SUR', 'Nowhere', '2', '3'))
const keyword = of(
  'sales',
  'NOT sales',
  'head AND NOT data',
  '"head of" OR senior',
  'engineer (sales OR data)',
)
const years3 = lists(of(...Object.keys(years)))
const sizes = lists(of(...companySizes.slice(0, 3)))

/** Returns those of the filters that every search of companies has. */
export const sharedOf = ({
  keyword: _,
  min_revenue: __,
  max_revenue: ___,
  revenue_currency: ____,
  ...shared
}: CompanyFilters) => shared

/** Filters of companies, of which few are given at a time. */
export const companyFilters = fc.record(
  {
    keyword,
    included_industries: industriesAsked,
    excluded_industries: industriesAsked,
    included_locations: locations,
    excluded_locations: locations,
    company_size: sizes,
    min_revenue: of(1, 2, 2.5),
    max_revenue: of(2.5, 8),
    revenue_currency: of('EUR', 'USD'),
  },
  { requiredKeys: [] },
)

/** Filters of people; accounts by the domain of their company. */
export const peopleFilters = fc.record(
  {
    keyword,
    job_titles: lists(fc.oneof({ weight: 5, arbitrary: titles }, of('*'))),
    excluded_job_titles: lists(titles),
    past_titles: lists(titles),
    excluded_past_titles: lists(titles),
    included_locations: locations,
    excluded_locations: locations,
    company_headquarters: locations,
    included_industries: industriesAsked,
    excluded_industries: industriesAsked,
    included_companies: employersAsked,
    excluded_companies: employersAsked,
    past_companies: employersAsked,
    functions: lists(of('1', '2', '3')),
    seniority_levels: lists(of('100', '110', '120')),
    years_of_experience: years3,
    years_at_current_company: years3,
    years_in_current_position: years3,
    company_size: sizes,
    company_type: lists(of(...Object.keys(companyTypes))),
    included_accounts: fc.array(of('c0.example', 'c1.example', 'c2.example'), { maxLength: 3 }),
    excluded_accounts: lists(of('c0.example', 'c1.example')),
    first_name: of('ada', 'ZOE'),
    last_name: of('oneil', 'Sahin'),
    company: of({ domain: 'c0.example' }, { networkId: '1' }, { domain: 'unknown.example' }),
    max_per_company: of(1, 2),
  },
  { requiredKeys: [] },
)

/** Keeps at most so many of the filters, chosen at random: all at once would find nobody. */
export const few = <T extends object>(filters: fc.Arbitrary<T>, most = 3): fc.Arbitrary<T> =>
  fc.tuple(filters, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }))).map(([given, draws]) => {
    const drawn = Object.entries(given).map((entry) => ({ entry, draw: draws.next().value ?? 0 }))
    const kept = drawn.sort((one, other) => one.draw - other.draw).slice(0, most)
    return Object.fromEntries(kept.map(({ entry }) => entry)) as T
  })
