import type { Connection } from '../../storage/driver/connection.js'
import { type Condition, every } from '../full-text/sql-conditions.js'
import { jobOf } from '../lookup/jobs.js'
import { toAccount } from '../records/company-row.js'
import { countCompanies } from './companies.js'
import { among } from './company-conditions.js'
import { companiesHiring, jobsSought } from './job-conditions.js'
import { partOf, readPosition, requireIndexes, type Searcher } from './search-kind.js'

/** Jobs of one company that a record carries at most. */
const mostJobs = 100

/**
 * Companies that look for people, each with the jobs that match: those with the newest such job first, those with undated
 * ones alone last.
 */
export const hiringSearch: Searcher<'hiring'> = requireIndexes(['jobs_by_company', 'jobs_by_date'], {
  count: async (connection, filters, now) => {
    const [matches, ...values] = every(jobsSought(connection, filters, now))
    const hires: Condition = [
      `EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_by_company WHERE company = companies.key AND ${matches})`,
      ...values,
    ]
    return await countCompanies(connection, [...companiesHiring(connection, filters), hires])
  },

  find: async (connection, filters, { limit, after, now }) => {
    const sought = every(jobsSought(connection, filters, now))
    const companies = every(among(companiesHiring(connection, filters)))
    const newest: Newest[] = []
    for (const stretch of stretchesBehind(readPosition<Place>(after))) {
      newest.push(...(await newestJobs(connection, sought, companies, stretch, limit + 1 - newest.length)))
      if (newest.length > limit) break
    }
    const { records, ...more } = partOf(newest, limit, ({ posted_at, key }) => [posted_at, key])
    const jobs = await jobsOfEach(connection, sought, records)
    const record = ({ company, record }: Newest) => {
      const account = toAccount(record)
      const { name, domain, network_url } = account
      const own = (jobs.get(company) ?? []).map((job) => jobOf(job, { name, domain, network_url }))
      return { account, jobs: own }
    }
    return { records: records.map(record), ...more }
  },
})

type Place = readonly [postedAt: number | null, key: number]

/** The newest job of a company that matches, with the company's record. */
interface Newest {
  readonly key: number
  readonly company: number
  readonly posted_at: number | null
  readonly record: string
}

const newestFirst = 'ORDER BY posted_at DESC NULLS LAST, key DESC'
const isNewer = '(posted_at > job.posted_at OR job.posted_at IS NULL) AND posted_at IS NOT NULL'
const isSameDay = 'posted_at IS NOT DISTINCT FROM job.posted_at AND key > job.key'

/** Jobs that match, of companies that do, where the company has no newer one. */
async function newestJobs(
  connection: Connection,
  [sought, ...soughtValues]: Condition,
  [companies, ...companyValues]: Condition,
  [stretch, ...stretchValues]: Condition,
  limit: number,
): Promise<Newest[]> {
  return await connection.all<Newest>(
    `SELECT found.*, record FROM (
      SELECT key, company, posted_at FROM jobs AS job INDEXED BY jobs_by_date
      WHERE ${stretch} AND ${sought}
        AND ${companies}
        AND NOT EXISTS (
          SELECT 1 FROM jobs INDEXED BY jobs_by_company
          WHERE company = job.company AND (${isNewer} OR ${isSameDay}) AND ${sought}
        )
      ${newestFirst} LIMIT ?
    ) AS found JOIN companies ON companies.key = found.company ${newestFirst.replaceAll(/(posted_at|key)/g, 'found.$1')}`,
    ...stretchValues,
    ...soughtValues,
    ...companyValues,
    ...soughtValues,
    limit,
  )
}

/** Records of the jobs that match, by company: newest first, as many as a record carries. */
async function jobsOfEach(
  connection: Connection,
  [sought, ...values]: Condition,
  companies: readonly Newest[],
): Promise<ReadonlyMap<number, string[]>> {
  const keys = companies.map(({ company }) => company)
  const rows = await connection.all<{ company: number; record: string }>(
    `SELECT company, (SELECT record FROM jobs WHERE jobs.key = ranked.key) AS record FROM (
      SELECT key, company, row_number() OVER (PARTITION BY company ${newestFirst}) AS place
      FROM jobs INDEXED BY jobs_by_company WHERE company IN (SELECT atom FROM json_each(?)) AND ${sought}
    ) AS ranked WHERE place <= ${mostJobs} ORDER BY company, place`,
    JSON.stringify(keys),
    ...values,
  )
  const byCompany = new Map<number, string[]>(keys.map((key) => [key, []]))
  for (const { company, record } of rows) byCompany.get(company)?.push(record)
  return byCompany
}

/** What comes behind a place, in stretches to whose beginning the index leads at once. */
function stretchesBehind(place: Place | undefined): Condition[] {
  if (!place) return [['TRUE']]
  const [postedAt, key] = place
  if (postedAt === null) return [['posted_at IS NULL AND key < ?', key]]
  return [['posted_at <= ? AND (posted_at < ? OR key < ?)', postedAt, postedAt, key], ['posted_at IS NULL']]
}
