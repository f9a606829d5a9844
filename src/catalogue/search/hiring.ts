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
import { atCompanies, inIndustries, inPlaces, ofSample, ofSizes } from './conditions.js'
import { parseCursor, readRanges, type Searcher, toPage } from './search-kind.js'

/** Maximum number of jobs in a record. */
const maxJobs = 100

/** Searches companies that hire, each with its matching jobs: the newest job first, only undated jobs last. */
export const hiringSearch: Searcher<'hiring'> = {
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
      const own = jobs.get(company) ?? []
      return {
        account: { ...account, job_count: own[0]?.total ?? 0 },
        jobs: own.map((job) => toJob(job.record, { name, domain, network_url })),
      }
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

/** Reads the matching jobs by company, the newest first, at most as many as a record has; `total` counts all of them. */
async function readJobs(
  connection: Connection,
  [jobsWhere, ...values]: Condition,
  companies: readonly NewestJob[],
) {
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
  return Map.groupBy(rows, ({ company }) => company)
}

/** Returns the rows after a cursor as ranges, each of which the index finds directly. */
function toRanges(place: HiringCursor | undefined): Condition[] {
  if (!place) return [['TRUE']]
  const [postedAt, key] = place
  if (postedAt === null) return [['posted_at IS NULL AND key < ?', key]]
  return [['posted_at <= ? AND (posted_at < ? OR key < ?)', postedAt, postedAt, key], ['posted_at IS NULL']]
}

/** Returns the days in the name of a period such as `last_30_days`. */
const daysIn = (period: NonNullable<HiringFilters['published_date']>): number =>
  period === 'last_24_hours' ? 1 : Number(period.split('_')[1])

/** Returns the conditions of a hiring search on jobs. Days count back from `now`. */
function jobConditions(connection: Connection, filters: HiringFilters, now: number): Condition[] {
  const { published_date, exclude_internships, included_locations, excluded_locations } = filters
  return [
    ...(published_date === undefined ? [] : [postedSince(now, daysIn(published_date))]),
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
  ...ofSample('companies', filters),
]

/** A job without a country is where its company is. */
const jobIn = ([place, ...values]: Condition): Condition => [
  `CASE WHEN country IS NULL
    THEN EXISTS (SELECT 1 FROM companies WHERE companies.key = company AND (${place})) ELSE ${place} END`,
  ...values,
  ...values,
]

/** Companies that hire for others or advise them, by industry or by a word of their name. */
function isConsulting(connection: Connection): Condition {
  const names = within(['name'], anyOf(keywords.consultingNames.map(phrase)))
  const isNamed = dialectOf(connection).texts.matchTexts('companies', names, 'many')
  return some([inIndustries(keywords.consultingIndustries), isNamed])
}

/**
 * Internships and apprenticeships, by their status or by a word of the title. A title that begins with `stage` is one in
 * French, Italian and Dutch; some English titles that begin so are not.
 */
function isInternship(connection: Connection): Condition {
  const { begin, not: others } = keywords.stageTitles
  const stage = allOf([beginning(begin), negate(anyOf(others.map(phrase)))])
  const titles = within(['title'], anyOf([...keywords.internshipWords.map(phrase), stage]))
  return some([
    dialectOf(connection).texts.matchTexts('jobs', titles, 'many'),
    ...keywords.internshipStatuses.map((status): Condition => ['instr(statuses, ?) > 0', `|${status}|`]),
  ])
}
