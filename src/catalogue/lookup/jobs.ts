import type { JobFilters, JobPosting } from '../../engine/ports/ports.js'
import { type Connection, readNumber } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import {
  type Condition,
  estimateSelectivity,
  every,
  ifAny,
  isOneOf,
  not,
  type Selectivity,
} from '../full-text/sql-conditions.js'
import { anyOf, phrase, within } from '../full-text/text-query.js'
import { text } from '../normalize/readers.js'
import { toAccount } from '../records/company-row.js'
import type { StoredJob } from '../records/jobs.js'
import type { CompanyMatch } from '../records/match-company.js'

const dayMs = 86_400_000

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

function conditions(
  connection: Connection,
  filters: JobFilters,
  selectivity: Selectivity,
  now: number,
): Condition[] {
  const days = filters.posted_within_days
  return [
    ...(days === undefined ? [] : [postedSince(now, days)]),
    ...phraseConditions(connection, selectivity, {
      title: [filters.job_title_keywords, filters.excluded_job_title_keywords],
      description: [filters.job_description_keywords, filters.excluded_job_description_keywords],
    }),
    ...ifAny(filters.job_country_codes, inCountries),
    ...ifAny(filters.excluded_job_country_codes, (codes) => not(inCountries(codes))),
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

/** A job of unknown country is in no country. */
const inCountries = (codes: readonly string[]): Condition => isOneOf('country', codes)

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
