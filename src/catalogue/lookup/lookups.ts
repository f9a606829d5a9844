import type { Headcount, JobFilters, JobPosting, PersonQuery } from '../../api/ports/ports.js'
import { dayMs } from '../../api/values/dates.js'
import { foldName, foldPersonName, foldText } from '../../identity/name.js'
import { isMobile } from '../../identity/phone.js'
import { parseProfile } from '../../identity/profile.js'
import { text } from '../../identity/readers.js'
import { toCompanyDomain, toEmail } from '../../identity/value-kinds.js'
import {
  boundInteger,
  boundText,
  type Connection,
  readNumber,
  type Value,
} from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { nameOfIndustry } from '../full-text/facets.js'
import {
  allOf,
  anyOf,
  type Condition,
  estimateSelectivity,
  every,
  ifAny,
  isOneOf,
  not,
  phrase,
  type Selectivity,
  within,
} from '../full-text/keyword.js'
import { findHeadcountBefore, type HeadcountEntry, toGrowthPercent } from '../records/headcount.js'
import type { StoredJob } from '../records/jobs.js'
import { type CompanyMatch, onlyOne, type StoredAccount, toAccount } from '../records/match-company.js'
import { type FoundPerson, selectPeople } from '../records/person.js'
import { isAtNamedCompany, isGeneratedId } from '../records/write-person.js'

/** Returns a company's newest matching jobs, at most `limit`, and how many match. */
export async function findJobs(
  connection: Connection,
  { key, record }: CompanyMatch,
  filters: JobFilters,
  limit: number,
  now: number,
): Promise<{ total: number; jobs: JobPosting[] }> {
  const own: Condition = ['company = ?', key]
  const { selectivity } = await estimateSelectivity(connection, 'jobs', own)
  const [where, ...values] = every([own, ...conditions(connection, filters, selectivity, now)])
  const count = `SELECT count(*) AS total FROM jobs WHERE ${where}`
  const newest = `SELECT record FROM jobs WHERE ${where} ORDER BY posted_at DESC NULLS LAST, key DESC LIMIT ?`
  const total = await readNumber(connection, count, ...values)
  const rows = await connection.all<{ record: string }>(newest, ...values, limit)
  const { name, domain, network_url } = toAccount(record)
  return { total, jobs: rows.map((row) => toJob(row.record, { name, domain, network_url })) }
}

function conditions(connection: Connection, filters: JobFilters, selectivity: Selectivity, now: number) {
  const days = filters.posted_within_days
  return [
    ...(days === undefined ? [] : [postedSince(now, days)]),
    ...phraseConditions(connection, selectivity, {
      title: [filters.job_title_keywords, filters.excluded_job_title_keywords],
      description: [filters.job_description_keywords, filters.excluded_job_description_keywords],
    }),
    ...ifAny(filters.job_country_codes, (codes) => isOneOf('country', codes)),
    ...ifAny(filters.excluded_job_country_codes, (codes) => not(isOneOf('country', codes))),
  ]
}

type Phrases = readonly [wanted: string[] | undefined, unwanted: string[] | undefined]

/** Returns the conditions that the texts of jobs have, and do not have, one of some phrases. */
export function phraseConditions(
  connection: Connection,
  selectivity: Selectivity,
  phrases: Readonly<Record<'title' | 'description', Phrases>>,
): Condition[] {
  const { matchTexts } = dialectOf(connection).texts
  return Object.entries(phrases).flatMap(([column, [wanted, unwanted]]) => {
    const hold = (some: readonly string[]) =>
      matchTexts('jobs', within([column], anyOf(some.map(phrase))), selectivity)
    return [...ifAny(wanted, hold), ...ifAny(unwanted, (some) => not(hold(some)))]
  })
}

/** Returns a condition for jobs of the last days. Most postings are dated by day, so the first day counts whole. */
export const postedSince = (now: number, days: number): Condition => [
  'posted_at >= ?',
  (Math.floor(now / dayMs) - days) * dayMs,
]

/** Returns a stored job with every key. */
export function toJob(record: string, company: JobPosting['company']): JobPosting {
  const known = JSON.parse(record) as StoredJob
  return {
    job_title: known.job_title ?? null,
    job_url: known.job_url ?? null,
    job_location: known.job_location ?? null,
    country_code: known.country_code ?? null,
    employment_statuses: known.employment_statuses ?? [],
    date_posted: known.date_posted ?? null,
    description: known.description ?? null,
    hiring_team: (known.hiring_team ?? []).map((member) => ({
      name: toText(member.name),
      title: toText(member.title),
      network_url: toText(member.network_url),
    })),
    company,
  }
}

/** Members of a hiring team are stored as given. */
const toText = (value: unknown): string | null => (typeof value === 'object' ? null : (text(value) ?? null))

const history =
  'SELECT department, date, headcount FROM headcount_history WHERE company = ? ORDER BY department, date'

/** Returns the newest known headcount, with its evolution, of `All` and of departments: all when none is requested. */
export async function findHeadcount(
  connection: Connection,
  { key, record }: CompanyMatch,
  departments: readonly string[],
): Promise<Headcount> {
  const entries = await connection.all<HeadcountEntry>(history, key)
  const byDepartment = new Map([['All', []], ...Map.groupBy(entries, ({ department }) => department)])
  const wanted = new Set(['All', ...departments].map(foldText))
  const { headcount } = JSON.parse(record) as StoredAccount
  const all = byDepartment.get('All')?.at(-1)?.headcount ?? headcount ?? undefined
  return Object.fromEntries(
    [...byDepartment]
      .filter(([department]) => departments.length === 0 || wanted.has(foldText(department)))
      .flatMap(([department, entries]) => {
        const now = entries.at(-1)?.headcount ?? all
        return now === undefined ? [] : [[department, toHeadcount(entries, now)]]
      }),
  )
}

const toHeadcount = (entries: readonly HeadcountEntry[], now: number): Headcount[string] => ({
  current_headcount: now,
  '3_months_evolution': toEvolution(entries, now, 3),
  '6_months_evolution': toEvolution(entries, now, 6),
  '12_months_evolution': toEvolution(entries, now, 12),
})

function toEvolution(entries: readonly HeadcountEntry[], now: number, months: number) {
  const base = findHeadcountBefore(entries, months)
  return {
    base_headcount: base,
    current_headcount: now,
    headcount_gain: base === null ? null : now - base,
    headcount_gain_percentage: toGrowthPercent(base, now),
  }
}

const lines = 'SELECT number, messenger FROM phones WHERE number IN (SELECT value FROM json_each(?))'

/** Returns the E.164 numbers that a messaging app reaches, as far as the catalogue knows. */
export async function findReachable(connection: Connection, numbers: readonly string[]) {
  // `messenger` is null when unknown; then a mobile number counts as reachable.
  const known = await connection.all<{ number: string; messenger: number | null }>(
    lines,
    JSON.stringify(numbers),
  )
  const reached = known.filter(({ number, messenger }) =>
    messenger === null ? isMobile(number) : messenger === 1,
  )
  return new Set(reached.map(({ number }) => number))
}

const counted = ['companies', 'people', 'jobs', 'technologies', 'posts'] as const

/** How many records of each kind the catalogue holds. */
export type Stats = Readonly<Record<(typeof counted)[number], number>>

/** Counts the records of each kind. */
export async function countAll(connection: Connection): Promise<Stats> {
  const counts = counted.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`)
  return (await connection.get<Stats>(`SELECT ${counts.join(', ')}`)) as Stats
}

/** An industry, and how many companies are in it. */
export interface IndustryCount {
  readonly id: string | null
  /** In lower case, as searches compare it. */
  readonly name: string | null
  readonly companies: number
}

/** Counts the companies of each industry, the largest first. */
export async function countIndustries(connection: Connection): Promise<IndustryCount[]> {
  const rows =
    await connection.all<IndustryCount>(`SELECT industry AS id, industry_name AS name, count(*) AS companies
    FROM companies WHERE industry IS NOT NULL OR industry_name IS NOT NULL GROUP BY industry, industry_name`)
  return rows
    .map(({ id, name, companies }) => ({ id, name: name ?? nameOfIndustry(id) ?? null, companies }))
    .sort((one, other) => other.companies - one.companies || ((one.name ?? '') < (other.name ?? '') ? -1 : 1))
}

/** Reads the state of a catalogue that has this program's schema, without counting. */
export async function readCatalogueState(connection: Connection) {
  const hasRows = async (table: string) =>
    (await connection.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) !== undefined
  return { isEmpty: !(await hasRows('companies')) && !(await hasRows('people')) }
}

/** Maximum number of people read: enough to see what is usual, few enough to be quick among millions. */
const maxHolders = 2_000
/** Maximum number of words of a title that are searched for. */
const maxWords = 12

/** Returns titles of people that have all words of the given one, the most frequent first. */
export async function findTitles(connection: Connection, title: string, limit: number): Promise<string[]> {
  const wanted = title.match(/[\p{L}\p{N}]+/gu)?.slice(0, maxWords)
  if (!wanted) return []
  const query = within(['title'], allOf(wanted.map(phrase)))
  const [sql, ...values] = dialectOf(connection).search.firstTitles(query, maxHolders)
  const rows = await connection.all<{ title: string | null }>(sql, ...values)
  const held = rows.flatMap((row) => row.title ?? [])
  return sortByFrequency(held, limit)
}

/** Titles that differ only in case and accents are one, in the spelling that comes first. */
function sortByFrequency(titles: readonly string[], limit: number): string[] {
  const counts = new Map<string, { readonly title: string; count: number }>()
  // Thousands of holders have a few titles: each spelling is folded once.
  const spellings = new Map<string, number>()
  for (const title of titles) spellings.set(title, (spellings.get(title) ?? 0) + 1)
  for (const [title, count] of spellings) {
    const folded = foldText(title)
    const known = counts.get(folded)
    if (known) known.count += count
    else counts.set(folded, { title, count })
  }
  return [...counts.values()]
    .sort((a, b) => b.count - a.count || a.title.localeCompare(b.title, 'en'))
    .slice(0, limit)
    .map(({ title }) => title)
}

const byId = `${selectPeople} people.network_id = ${boundText}`
const bySlug = `${selectPeople} people.slug = ${boundText} LIMIT 2`
const byEmail = `${selectPeople} people.email = ${boundText} OR people.personal_email = ${boundText} LIMIT 2`
const ofCompanies = (where: string) =>
  `${selectPeople} people.name = ${boundText} AND people.company IN (SELECT key FROM companies WHERE ${where}) LIMIT 2`
const atDomain = ofCompanies(`domain = ${boundText}`)
// With an unknown domain, a company that has a domain is another one.
const atCompany = ofCompanies(`name = ${boundText} AND (${boundInteger} = 0 OR domain IS NULL)`)
const atNoCompany = `${selectPeople} people.company IS NULL AND people.name = ${boundText}`

/**
 * Returns the person of a query; `undefined` rather than the wrong one. A profile url decides. Name and company find
 * the only person of that name there, and with an unknown profile url only one who has no profile.
 */
export async function matchPerson(connection: Connection, query: PersonQuery) {
  const profile = query.url ? parseProfile(query.url) : undefined
  if (profile?.kind !== 'person') return onlyOne(await findByName(connection, query))
  const { id, slug } = profile
  const known = await connection.all<FoundPerson>(id === undefined ? bySlug : byId, id ?? slug ?? null)
  if (known.length > 0) return onlyOne(known)
  const person = onlyOne(await findByName(connection, query))
  return person?.slug === null && isGeneratedId(person.network_id) ? person : undefined
}

/** Returns the only person with this professional or personal email address, ignoring case. */
export async function matchEmail(connection: Connection, email: string): Promise<FoundPerson | undefined> {
  const address = toEmail(email)
  return address === undefined
    ? undefined
    : onlyOne(await connection.all<FoundPerson>(byEmail, address, address))
}

/** Returns the people of that name at the company with the domain; when no company has it, at companies of that name. */
async function findByName(connection: Connection, query: PersonQuery): Promise<FoundPerson[]> {
  if (!query.firstName || !query.lastName) return []
  const name = foldPersonName(`${query.firstName} ${query.lastName}`)
  if (name === '') return []
  const all = (sql: string, ...values: Value[]) => connection.all<FoundPerson>(sql, name, ...values)
  const domain = query.domain ? toCompanyDomain(query.domain, query.companyName ?? '') : undefined
  if (domain !== undefined && (await connection.get('SELECT key FROM companies WHERE domain = ?', domain)))
    return await all(atDomain, domain)
  const company = foldName(query.companyName ?? '')
  if (company === '') return []
  const unplaced = (await all(atNoCompany)).filter((person) => isAtNamedCompany(person, company))
  return [...(await all(atCompany, company, domain === undefined ? 0 : 1)), ...unplaced]
}
