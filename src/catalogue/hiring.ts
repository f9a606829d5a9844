import type { Job, JobFilters } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import { accountOf } from './account.js'
import type { StoredJob } from './jobs.js'
import type { Candidate } from './match.js'
import { type Condition, every, given, holdsAny, not } from './phrases.js'
import { text } from './values.js'

const dayMs = 86_400_000

/** A company's newest jobs that match, at most `limit`, and how many match. */
export async function jobsOf(
  connection: Connection,
  { key, record }: Candidate,
  filters: JobFilters,
  limit: number,
  now: number,
): Promise<{ total: number; jobs: Job[] }> {
  const [where, ...values] = every([['company = ?', key], ...conditions(filters, now)])
  const count = `SELECT count(*) AS total FROM jobs WHERE ${where}`
  const newest = `SELECT record FROM jobs WHERE ${where} ORDER BY posted_at DESC, key DESC LIMIT ?`
  const { total } = (await connection.get<{ total: number }>(count, ...values)) ?? { total: 0 }
  const rows = await connection.all<{ record: string }>(newest, ...values, limit)
  const { name, domain, network_url } = accountOf(record)
  return { total, jobs: rows.map((row) => jobOf(row.record, { name, domain, network_url })) }
}

function conditions(filters: JobFilters, now: number): Condition[] {
  const title = (phrases: readonly string[]) => holdsAny('jobs_text', 'title', phrases)
  const description = (phrases: readonly string[]) => holdsAny('jobs_text', 'description', phrases)
  const days = filters.posted_within_days
  return [
    ...(days === undefined ? [] : [postedSince(now, days)]),
    ...given([
      [filters.job_title_keywords, title],
      [filters.excluded_job_title_keywords, (phrases) => not(title(phrases))],
      [filters.job_description_keywords, description],
      [filters.excluded_job_description_keywords, (phrases) => not(description(phrases))],
      [filters.job_country_codes, inCountries],
      [filters.excluded_job_country_codes, (codes) => not(inCountries(codes))],
    ]),
  ]
}

/** Jobs of the last days. Most postings are dated by day, so that the first of them counts whole. */
export const postedSince = (now: number, days: number): Condition => [
  'posted_at >= ?',
  (Math.floor(now / dayMs) - days) * dayMs,
]

/** A job of unknown country is in none of them. */
const inCountries = (codes: readonly string[]): Condition => [
  "coalesce(country, '') IN (SELECT value FROM json_each(?))",
  JSON.stringify(codes),
]

/** The job that a stored record stands for, with every key. */
export function jobOf(record: string, company: Job['company']): Job {
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
      name: wordsOf(member.name),
      title: wordsOf(member.title),
      network_url: wordsOf(member.network_url),
    })),
    company,
  }
}

/** Members of a hiring team are kept as they were given. */
const wordsOf = (value: unknown): string | null => (typeof value === 'object' ? null : (text(value) ?? null))
