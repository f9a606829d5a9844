import type { Value } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { domain, text, Unreadable } from '../normalize/readers.js'
import { regionOf } from '../places/place.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing, Written } from '../write/write-context.js'
import { type Fields, jobFields, offererFields, type Read, readFields } from './fields.js'
import { rowWriter } from './upsert.js'
import { type Employer, employerKey } from './write-employer.js'

/** Columns of jobs that repeat what the record says, to be found and filtered by. */
export const jobColumns = ['posted_at', 'country', 'region', 'city', 'statuses'] as const

/** A stored job: the given fields without those of its company. */
export type StoredJob = Read<typeof jobFields>

/** A job read from a file or the sample, ready to be written. */
export interface PreparedJob {
  readonly job: StoredJob
  readonly employer: Employer
}

/** Reads a given job. Refuses one without title or company. */
export function prepareJob(given: RawRecord): PreparedJob {
  const job = readFields(jobFields, given)
  const { company, company_domain, company_network_url, company_network_id, company_name } = readFields(
    offererFields,
    given,
  )
  const employer: Employer = {
    company_domain: company_domain ?? domain(company?.domain),
    company_network_url: company_network_url ?? text(company?.network_url),
    company_network_id,
    company_name: company_name ?? text(company?.name),
  }
  if (job.job_title === undefined) throw new Unreadable('a job needs a job_title')
  if (Object.values(employer).every((value) => value === undefined))
    throw new Unreadable('a job needs a company_domain')
  return { job, employer }
}

interface JobRow {
  readonly key: number
  readonly record: string
}

const columns = ['company', 'identity', ...jobColumns, 'record']
const rows = rowWriter('jobs', columns, [])

/** Adds a job, or merges what is given over the one with its url, else with its company, title, location and date. */
export function* writeJob(writing: Writing, { job, employer }: PreparedJob): Steps<Written> {
  const { connection, mayHold } = writing
  const company = yield* employerKey(writing, employer)
  if (company === undefined)
    throw new Unreadable(
      `no company '${employer.company_name}' is known, or several are: give its company_domain`,
    )
  const identity = identityOf(job, company)
  const existing = mayHold('jobs', 'identity', identity)
    ? yield* answered(connection.get<JobRow>('SELECT key, record FROM jobs WHERE identity = ?', identity))
    : undefined
  const before = existing && (JSON.parse(existing.record) as StoredJob)
  const after: StoredJob = { ...before, ...job }
  const values = [company, identity, ...jobValues(after), JSON.stringify(after)]
  const texts = jobTexts(after)
  if (existing) {
    const isSaidAsBefore = before?.job_title === after.job_title && before?.description === after.description
    rows.change(writing, existing.key, values, false, isSaidAsBefore ? undefined : texts)
  } else rows.add(writing, writing.nextKey('jobs'), values, texts)
  writing.note('jobs', 'identity', identity)
  return existing ? 'updated' : 'added'
}

/** What keyword searches look through. */
export const jobTexts = ({ job_title, description }: StoredJob): [title: string, description: string] => [
  job_title ?? '',
  description ?? '',
]

function identityOf(job: StoredJob, company: number): string {
  if (job.job_url !== undefined) return job.job_url
  const parts = [job.job_title, job.job_location, job.date_posted].map((part) => foldText(part ?? ''))
  return `${company}:${parts.join(':')}`
}

/**
 * The values of these columns, in their order. A place is in a country that is given: words alone are too often another
 * place (`Wilmington, DE`, `Atlanta, Georgia`).
 */
export function jobValues({
  date_posted,
  country_code,
  job_location,
  employment_statuses,
}: Fields<'jobs'>): Value[] {
  const [city] = job_location?.split(',', 1) ?? []
  return [
    date_posted === undefined ? null : Date.parse(date_posted),
    country_code ?? null,
    (country_code && regionOf(country_code, city, job_location)) ?? null,
    (country_code && foldText(city ?? '')) || null,
    statusText(employment_statuses ?? []) || null,
  ]
}

/** Kinds of employment folded, each with a bar on both sides: `|full time|internship|`. */
const statusText = (statuses: readonly string[]): string =>
  statuses.length === 0 ? '' : `|${statuses.map(foldText).join('|')}|`
