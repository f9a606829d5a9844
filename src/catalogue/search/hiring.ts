import type { HiringFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { type Condition, every } from '../full-text/sql-conditions.js'
import { toJob } from '../lookup/jobs.js'
import { toAccount } from '../records/company-row.js'
import { countCompanies } from './companies.js'
import { atCompanies } from './company-conditions.js'
import { hiringCompanyConditions, jobConditions } from './job-conditions.js'
import { parseCursor, readRanges, type Searcher, toPage } from './search-kind.js'

/** Maximum number of jobs in a record. */
const mostJobs = 100

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
    ) AS ranked WHERE place <= ${mostJobs} ORDER BY company, place`,
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
