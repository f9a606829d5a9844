import type { LeaveOut } from '../../csv/names.js'
import type { Value } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { domain, InvalidRecordError, text } from '../normalize/readers.js'
import { findRegion } from '../places/place.js'
import type { Steps } from '../write/sync-steps.js'
import type { WriteContext, WriteResult } from '../write/write-context.js'
import {
  jobEmployerFields,
  jobFields,
  type ParsedFields,
  type RecordFields,
  readFields,
  readOr,
} from './fields.js'
import { tidyEmployer } from './person.js'
import { createRowWriter, findByIdentity } from './upsert.js'
import { type Employer, findOrCreateEmployer } from './write-employer.js'

/** Columns of jobs that repeat facts of the record, for searches. */
const jobColumns = ['posted_at', 'country', 'region', 'city', 'statuses'] as const

/** A stored job: its fields without those of the company. */
export type StoredJob = ParsedFields<typeof jobFields>

/** A job that was read and is ready to be written. */
export interface PreparedJob {
  readonly job: StoredJob
  readonly employer: Employer
}

/** Reads a job. Throws when it has no title or no company. */
export function prepareJob(raw: RawRecord, leaveOut: LeaveOut): PreparedJob {
  const job = readFields(jobFields, raw, leaveOut)
  const { company, company_domain, company_network_url, company_network_id, company_name } = readFields(
    jobEmployerFields,
    raw,
    leaveOut,
  )
  const employer: Employer = {
    company_domain: company_domain ?? readOr(leaveOut, 'company', company?.domain, domain),
    company_network_url: company_network_url ?? readOr(leaveOut, 'company', company?.network_url, text),
    company_network_id,
    company_name: company_name ?? readOr(leaveOut, 'company', company?.name, text),
  }
  tidyEmployer(employer, leaveOut)
  if (job.job_title === undefined) throw new InvalidRecordError('a job needs a job_title')
  if (Object.values(employer).every((value) => value === undefined))
    throw new InvalidRecordError('a job needs a company_domain')
  return { job, employer }
}

const columns = ['company', 'identity', ...jobColumns, 'record']
const rows = createRowWriter('jobs', columns, [])

/** Adds a job, or merges it into the stored one with its url, else with its company, title, location and date. */
export function* writeJob(context: WriteContext, { job, employer }: PreparedJob): Steps<WriteResult> {
  const company = yield* findOrCreateEmployer(context, employer)
  if (company === undefined)
    throw new InvalidRecordError(
      `no company '${employer.company_name}' is known, or several are: give its company_domain`,
    )
  const identity = toJobIdentity(job, company)
  const existing = yield* findByIdentity(context, 'jobs', identity)
  const before = existing && (JSON.parse(existing.record) as StoredJob)
  const after: StoredJob = { ...before, ...job }
  const values = [company, identity, ...toJobFacts(after), JSON.stringify(after)]
  const texts = toJobTexts(after)
  if (existing) {
    const hasSameTexts = before?.job_title === after.job_title && before?.description === after.description
    rows.change(context, existing.key, values, false, hasSameTexts ? undefined : texts)
  } else rows.add(context, context.nextKey('jobs'), values, texts)
  context.remember('jobs', 'identity', identity)
  if (!existing) return 'added'
  return existing.record === values.at(-1) ? 'unchanged' : 'updated'
}

/** Returns the texts of keyword searches. */
export const toJobTexts = ({ job_title, description }: StoredJob): [title: string, description: string] => [
  job_title ?? '',
  description ?? '',
]

function toJobIdentity(job: StoredJob, company: number): string {
  if (job.job_url !== undefined) return job.job_url
  const parts = [job.job_title, job.job_location, job.date_posted].map((part) => foldText(part ?? ''))
  return `${company}:${parts.join(':')}`
}

/**
 * Returns the values of `jobColumns`, in their order. A place counts only with a country: its name alone is ambiguous
 * (`Wilmington, DE`, `Atlanta, Georgia`).
 */
function toJobFacts({
  date_posted,
  country_code,
  job_location,
  employment_statuses,
}: RecordFields<'jobs'>): Value[] {
  const [city] = job_location?.split(',', 1) ?? []
  return [
    date_posted === undefined ? null : Date.parse(date_posted),
    country_code ?? null,
    (country_code && findRegion(country_code, city, job_location)) ?? null,
    (country_code && foldText(city ?? '')) || null,
    joinStatuses(employment_statuses ?? []) || null,
  ]
}

/** Joins folded employment statuses, each with a bar on both sides: `|full time|internship|`. */
const joinStatuses = (statuses: readonly string[]): string =>
  statuses.length === 0 ? '' : `|${statuses.map(foldText).join('|')}|`
