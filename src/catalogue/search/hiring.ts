import type { HiringFilters } from '../../api/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import {
  allOf,
  anyOf,
  beginning,
  type Condition,
  every,
  ifAny,
  negate,
  not,
  phrase,
  some,
  within,
} from '../full-text/keyword.js'
import { phraseConditions, postedSince, toJob } from '../lookup/lookups.js'
import { toAccount } from '../records/match-company.js'
import keywords from './classification-keywords.json' with { type: 'json' }
import { countCompanies } from './companies.js'
import { atCompanies, inIndustries, inPlaces, ofSizes } from './conditions.js'
import { parseCursor, readRanges, type Searcher, toPage } from './search-kind.js'

/** Maximum number of jobs in a record. */
const maxJobs = 100

/**
 * Searches companies that hire, each with its matching jobs: those with the newest job first, those with only undated
 * jobs last.
 */
export const hiringSearch: Searcher<'hiring'> = {
  indexes: ['jobs_by_company', 'jobs_by_date'],

  count: async (connection, filters, now) => {
    const hires = hasJobs('companies.key', every(jobConditions(connection, filters, now)), minJobs(filters))
    return await countCompanies(connection, [...hiringCompanyConditions(connection, filters), hires])
  },

  find: async (connection, filters, { limit, after, now }) => {
    const jobsWhere = every(jobConditions(connection, filters, now))
    const companies = every([
      ...atCompanies(hiringCompanyConditions(connection, filters)),
      // The job itself is one that matches.
      ...(minJobs(filters) > 1 ? [hasJobs('job.company', jobsWhere, minJobs(filters))] : []),
    ])
    const newest = await readRanges(toRanges(parseCursor<HiringCursor>(after)), limit, (range, most) =>
      readNewestJobs(connection, jobsWhere, companies, range, most),
    )
    const jobs = await readJobs(connection, jobsWhere, newest.slice(0, limit))
    const toRecord = ({ company, record }: NewestJob) => {
      const account = toAccount(record)
      const { name, domain, network_url } = account
      const { total, records } = jobs.get(company) ?? { total: 0, records: [] }
      const own = records.map((job) => toJob(job, { name, domain, network_url }))
      return { account: { ...account, job_count: total }, jobs: own }
    }
    return toPage(newest, limit, ({ posted_at, key }) => [posted_at, key], toRecord)
  },
}

const minJobs = ({ job_min_posted = 1 }: HiringFilters): number => job_min_posted

/** Whether the company with a key has at least so many matching jobs. */
function hasJobs(key: string, [matches, ...values]: Condition, min: number): Condition {
  const jobs = `SELECT 1 FROM jobs INDEXED BY jobs_by_company WHERE company = ${key} AND ${matches}`
  // PostgreSQL does not join what has an offset.
  return min === 1
    ? [`EXISTS (${jobs})`, ...values]
    : [`EXISTS (${jobs} LIMIT 1 OFFSET ?)`, ...values, min - 1]
}

type HiringCursor = readonly [postedAt: number | null, key: number]

/** The newest matching job of a company, with the company's record. */
interface NewestJob {
  readonly key: number
  readonly company: number
  readonly posted_at: number | null
  readonly record: string
}

const newestFirst = 'ORDER BY posted_at DESC NULLS LAST, key DESC'
const isNewer = '(posted_at > job.posted_at OR job.posted_at IS NULL) AND posted_at IS NOT NULL'
const isSameDay = 'posted_at IS NOT DISTINCT FROM job.posted_at AND key > job.key'

/** Reads the newest matching job of each matching company. */
async function readNewestJobs(
  connection: Connection,
  [jobsWhere, ...jobsValues]: Condition,
  [companies, ...companyValues]: Condition,
  [range, ...rangeValues]: Condition,
  limit: number,
): Promise<NewestJob[]> {
  return await connection.all<NewestJob>(
    `SELECT found.*, record FROM (
      SELECT key, company, posted_at FROM jobs AS job INDEXED BY jobs_by_date
      WHERE ${range} AND ${jobsWhere}
        AND ${companies}
        AND NOT EXISTS (
          SELECT 1 FROM jobs INDEXED BY jobs_by_company
          WHERE company = job.company AND (${isNewer} OR ${isSameDay}) AND ${jobsWhere}
        )
      ${newestFirst} LIMIT ?
    ) AS found JOIN companies ON companies.key = found.company 
    ORDER BY found.posted_at DESC NULLS LAST, found.key DESC`,
    ...rangeValues,
    ...jobsValues,
    ...companyValues,
    ...jobsValues,
    limit,
  )
}

/** The matching jobs of a company: how many there are, and the newest. */
interface MatchingJobs {
  readonly total: number
  readonly records: string[]
}

/** Reads the matching jobs by company, the newest first, at most as many as a record has. */
async function readJobs(
  connection: Connection,
  [jobsWhere, ...values]: Condition,
  companies: readonly NewestJob[],
): Promise<ReadonlyMap<number, MatchingJobs>> {
  const keys = companies.map(({ company }) => company)
  const rows = await connection.all<{ company: number; total: number; record: string }>(
    `SELECT company, total, (SELECT record FROM jobs WHERE jobs.key = ranked.key) AS record FROM (
      SELECT key, company, row_number() OVER (PARTITION BY company ${newestFirst}) AS place,
        count(*) OVER (PARTITION BY company) AS total
      FROM jobs INDEXED BY jobs_by_company WHERE company IN (SELECT atom FROM json_each(?)) AND ${jobsWhere}
    ) AS ranked WHERE place <= ${maxJobs} ORDER BY company, place`,
    JSON.stringify(keys),
    ...values,
  )
  const byCompany = new Map<number, MatchingJobs>()
  for (const { company, total, record } of rows) {
    const jobs = byCompany.get(company) ?? { total, records: [] }
    jobs.records.push(record)
    byCompany.set(company, jobs)
  }
  return byCompany
}

/** Returns the rows after a cursor as ranges, each of which the index finds directly. */
function toRanges(place: HiringCursor | undefined): Condition[] {
  if (!place) return [['TRUE']]
  const [postedAt, key] = place
  if (postedAt === null) return [['posted_at IS NULL AND key < ?', key]]
  return [['posted_at <= ? AND (posted_at < ? OR key < ?)', postedAt, postedAt, key], ['posted_at IS NULL']]
}

const days: Readonly<Record<NonNullable<HiringFilters['published_date']>, number>> = {
  last_24_hours: 1,
  last_7_days: 7,
  last_15_days: 15,
  last_30_days: 30,
  last_90_days: 90,
  last_180_days: 180,
  last_360_days: 360,
}

/** Returns the conditions of a hiring search on jobs. Days count back from `now`. */
function jobConditions(connection: Connection, filters: HiringFilters, now: number): Condition[] {
  const { published_date, exclude_internships, included_locations, excluded_locations } = filters
  return [
    ...(published_date === undefined ? [] : [postedSince(now, days[published_date])]),
    ...phraseConditions(connection, 'many', {
      title: [filters.selected_titles, filters.excluded_titles],
      description: [filters.selected_keywords, filters.excluded_keywords],
    }),
    ...(exclude_internships ? [not(isInternship(connection))] : []),
    ...ifAny(included_locations, (ids) => jobIn(inPlaces('included_locations', ids))),
    ...ifAny(excluded_locations, (ids) => not(jobIn(inPlaces('excluded_locations', ids)))),
  ]
}

const hiringCompanyConditions = (connection: Connection, filters: HiringFilters): Condition[] => [
  ...ifAny(filters.company_size, ofSizes),
  ...ifAny(filters.included_industries, inIndustries),
  ...(filters.exclude_consulting_recruiting ? [not(isConsulting(connection))] : []),
]

/** A job without a country is where its company is. */
const jobIn = ([place, ...values]: Condition): Condition => [
  `CASE WHEN country IS NULL
    THEN EXISTS (SELECT 1 FROM companies WHERE companies.key = company AND (${place})) ELSE ${place} END`,
  ...values,
  ...values,
]

/** Companies that hire for others or advise them, by industry or by a word of their name. */
const isConsulting = (connection: Connection): Condition =>
  some([
    inIndustries(keywords.consultingIndustries),
    dialectOf(connection).texts.matchTexts(
      'companies',
      within(['name'], anyOf(keywords.consultingNames.map(phrase))),
      'many',
    ),
  ])

/**
 * Internships and apprenticeships, by their status or by a word of the title. A title that begins with `stage` is one in
 * French, Italian and Dutch; some English titles that begin so are not.
 */
const isInternship = (connection: Connection): Condition =>
  some([
    dialectOf(connection).texts.matchTexts(
      'jobs',
      within(
        ['title'],
        anyOf([
          ...keywords.internshipWords.map(phrase),
          allOf([beginning(keywords.stageTitles.begin), negate(anyOf(keywords.stageTitles.not.map(phrase)))]),
        ]),
      ),
      'many',
    ),
    ...keywords.internshipStatuses.map((status): Condition => ['instr(statuses, ?) > 0', `|${status}|`]),
  ])
