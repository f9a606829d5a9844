import type { CompanyFilters, PeopleFilters } from '../../src/api/ports/ports.js'
import { companyTypes, functions, seniorities, years } from '../../src/api/schemas/enumerations.js'
import type { Fields } from '../../src/api/values/objects.js'
import { readTitle } from '../../src/identity/titles.js'
import { stillClock } from './open.js'

// The filters once more, in the plainest way: one record after the other, and texts compared word by word.

const split = (text: string): string =>
  ` ${text
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{M}|'/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `

/** What was split already: every search reads the same texts again. */
const known = new Map<string, string>()
function words(text: unknown): string {
  const given = String(text ?? '')
  const before = known.get(given)
  if (before !== undefined) return before
  if (known.size >= 1_000_000) known.clear()
  const made = split(given)
  known.set(given, made)
  return made
}
const holds = (text: unknown, phrase: string): boolean => words(text).includes(words(phrase))
/** Whether a text has one of these phrases, word by word. */
export const holdsOne = (text: unknown, phrases: readonly string[]): boolean =>
  phrases.some((phrase) => holds(text, phrase))
const bare = (name: unknown): string =>
  words(name)
    .trim()
    .replace(/ (sarl|ltd|co|and co)$/, '')
const sameName = (name: unknown, asked: string): boolean => name !== undefined && bare(name) === bare(asked)

function isAt(place: Fields, id: string): boolean {
  if (['geo:FR.84', 'geo:2996944', 'Lyon, France'].includes(id))
    return place.country === 'FR' && place.city === 'Lyon'
  return place.country === id
}
const isAtOne = (place: Fields, ids: readonly string[]): boolean => ids.some((id) => isAt(place, id))

const names: Readonly<Record<string, string>> = {
  96: 'software development',
  43: 'financial services',
  4: 'automotive',
}
const industryOf = (company: Fields): string => bare(company.industry ?? names[String(company.industry_id)])
const isOfIndustry = (company: Fields, asked: string): boolean =>
  industryOf(company) !== '' && industryOf(company) === bare(names[asked] ?? asked)

function sizeOf({ employee_range, headcount }: Fields): unknown {
  if (employee_range !== undefined || headcount === undefined) return employee_range
  return Number(headcount) <= 10 ? '1-10' : '11-50'
}

type Has = (phrase: string) => boolean
const meanings: Readonly<Record<string, (has: Has) => boolean>> = {
  'NOT sales': (has) => !has('sales'),
  'head AND NOT data': (has) => has('head') && !has('data'),
  '"head of" OR senior': (has) => has('head of') || has('senior'),
  'engineer (sales OR data)': (has) => has('engineer') && (has('sales') || has('data')),
  'onboarding AND NOT kubernetes': (has) => has('onboarding') && !has('kubernetes'),
  'robotics OR payroll': (has) => has('robotics') || has('payroll'),
  '"vp legal affairs"': (has) => has('vp legal affairs'),
  'compliance (forecasting OR payroll)': (has) => has('compliance') && (has('forecasting') || has('payroll')),
}

const said = (keyword: string, texts: readonly unknown[]): boolean => {
  const has: Has = (phrase) => texts.some((text) => holds(text, phrase))
  return meanings[keyword]?.(has) ?? (/^[a-z]+$/.test(keyword) && has(keyword))
}

/** Whether a company matches. */
export function companyMatches(company: Fields, filters: CompanyFilters): boolean {
  const { name, description, industry, revenue, revenue_currency } = company
  const { min_revenue: min, max_revenue: max, revenue_currency: currency } = filters
  const about = [description, industry].filter(Boolean).join(' ')
  const inMillions = revenue === undefined ? Number.NaN : Number(revenue) / 1e6
  const checks: boolean[] = [
    filters.keyword === undefined || said(filters.keyword, [name, about]),
    filters.included_industries?.some((one) => isOfIndustry(company, one)) ?? true,
    !filters.excluded_industries?.some((one) => isOfIndustry(company, one)),
    filters.included_locations === undefined || isAtOne(company, filters.included_locations),
    !isAtOne(company, filters.excluded_locations ?? []),
    filters.company_size?.some((size) => size === sizeOf(company)) ?? true,
    min === undefined || inMillions >= min,
    max === undefined || inMillions <= max,
    currency === undefined ||
      (min === undefined && max === undefined) ||
      String(revenue_currency).toUpperCase() === currency,
  ]
  return checks.every(Boolean)
}

/** Full years between a day and now. */
function yearsSince(day: string): number {
  const now = new Date(stillClock.now()).toISOString().slice(0, 10)
  let full = 0
  while (`${Number(day.slice(0, 4)) + full + 1}${day.slice(4)}` <= now) full += 1
  return full
}

function termOf(person: Fields, of: 'position' | 'company'): number | undefined {
  const [given, beyond] = [person[`years_in_${of}`], person[`months_in_${of}`]]
  const known = given === undefined && beyond === undefined ? undefined : Number(given ?? 0)
  if (person.started_at === undefined) return known
  const since = yearsSince(String(person.started_at))
  return of === 'position' ? since : Math.max(since, known ?? 0)
}

const isWithin = (term: unknown, ranges: readonly string[] | undefined): boolean =>
  ranges === undefined ||
  (term !== undefined &&
    ranges.some((id) => {
      const [from, to] = years[id] ?? [Number.NaN, null]
      return Number(term) >= from && Number(term) <= (to ?? Number.POSITIVE_INFINITY)
    }))

const pastOf = (person: Fields): readonly Fields[] => (person.past_positions ?? []) as readonly Fields[]

function textsMatch(person: Fields, filters: PeopleFilters): boolean {
  const about = [person.headline, person.summary].filter(Boolean).join(' ')
  const name = person.first_name && person.last_name ? `${person.first_name} ${person.last_name}` : ''
  const past = (titles: readonly string[]) => pastOf(person).some(({ title }) => holdsOne(title, titles))
  const { job_titles: titles, past_titles } = filters
  return (
    (filters.keyword === undefined || said(filters.keyword, [name, person.title, about])) &&
    (titles === undefined || titles.includes('*') || holdsOne(person.title, titles)) &&
    !holdsOne(person.title, filters.excluded_job_titles ?? []) &&
    (past_titles === undefined || past(past_titles)) &&
    !past(filters.excluded_past_titles ?? []) &&
    (filters.past_companies?.some((asked) =>
      pastOf(person).some((post) => sameName(post.company_name, asked) || post.company_network_id === asked),
    ) ??
      true)
  )
}

function worksAt(person: Fields, company: Fields | undefined, asked: string): boolean {
  if (!company) return sameName(person.company_name, asked)
  return sameName(company.name, asked) || company.network_id === asked
}

function companyIs(person: Fields, company: Fields | undefined, filters: PeopleFilters): boolean {
  const of = company ?? {}
  const type = Object.keys(companyTypes).find((letter) => companyTypes[letter] === of.company_type)
  const { company: only, company_size, company_type } = filters
  return (
    (only === undefined ||
      (company !== undefined && (of.domain === only.domain || of.network_id === only.networkId))) &&
    (filters.included_companies?.some((asked) => worksAt(person, company, asked)) ?? true) &&
    !filters.excluded_companies?.some((asked) => worksAt(person, company, asked)) &&
    (filters.included_accounts?.includes(String(of.domain)) ?? true) &&
    !filters.excluded_accounts?.includes(String(of.domain)) &&
    (filters.company_headquarters === undefined || isAtOne(of, filters.company_headquarters)) &&
    (filters.included_industries?.some((one) => isOfIndustry(of, one)) ?? true) &&
    !filters.excluded_industries?.some((one) => isOfIndustry(of, one)) &&
    (company_size?.some((size) => size === sizeOf(of)) ?? true) &&
    (company_type?.some((letter) => letter === type) ?? true)
  )
}

/** Whether a person matches; accounts are given by the domain of their company. */
export function personMatches(person: Fields, companies: readonly Fields[], filters: PeopleFilters): boolean {
  const title = readTitle(person.title as string | undefined)
  const company = companies.find(({ domain }) => domain === person.company_domain)
  const checks: boolean[] = [
    textsMatch(person, filters),
    companyIs(person, company, filters),
    filters.included_locations === undefined || isAtOne(person, filters.included_locations),
    !isAtOne(person, filters.excluded_locations ?? []),
    filters.functions?.some((id) => functions[id] === (person.function ?? title.function)) ?? true,
    filters.seniority_levels?.some((id) => seniorities[id] === (person.seniority ?? title.seniority)) ?? true,
    isWithin(person.years_of_experience, filters.years_of_experience),
    isWithin(termOf(person, 'position'), filters.years_in_current_position),
    isWithin(termOf(person, 'company'), filters.years_at_current_company),
    filters.first_name === undefined || sameName(person.first_name, filters.first_name),
    filters.last_name === undefined || sameName(person.last_name, filters.last_name),
  ]
  return checks.every(Boolean)
}

/** The first people of each company, as many as a search asks for; who names no company is at none. */
export function firstPerCompany(people: readonly Fields[], most = people.length): Fields[] {
  const counts = new Map<unknown, number>()
  return people.filter(({ company_domain, company_name }) => {
    const company = company_domain ?? company_name
    const count = counts.get(company) ?? 0
    counts.set(company, count + 1)
    return company === undefined || count < most
  })
}

/** Companies in the order they are found: the largest first. */
export const largestFirst = (companies: readonly Fields[]): Fields[] =>
  companies
    .map((company, at) => ({ company, at, size: Number(company.headcount ?? -1) }))
    .sort((one, other) => other.size - one.size || one.at - other.at)
    .map(({ company }) => company)
