import type { Fields } from '../../api/values/objects.js'
import type { LeaveOut } from '../../csv/names.js'
import { foldText } from '../../identity/name.js'
import { domain, invalid, isInvalid, text } from '../../identity/readers.js'
import { findRegion } from '../places/place.js'
import {
  type Candidate,
  decideEach,
  type ImportContext,
  type Outcome,
  readIdentities,
  type TextChange,
  writeRows,
} from '../write/import-context.js'
import { jobEmployerFields, jobFields, type ParsedFields, readFields, readOr } from './fields.js'
import type { StoredTexts } from './match-company.js'
import { tidyEmployer } from './person.js'
import { type Employer, importEmployers } from './write-company.js'

/** A stored job: its fields without those of the company. */
export type StoredJob = ParsedFields<typeof jobFields>

export type PreparedJob = ReturnType<typeof prepareJob>

/** Reads a job. Throws when it has no title or no company. */
export function prepareJob(raw: Fields, leaveOut: LeaveOut) {
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
  if (job.job_title === undefined) throw invalid('a job needs a job_title')
  if (Object.values(employer).every((value) => value === undefined))
    throw invalid('a job needs a company_domain')
  return { job, employer }
}

const jobTable = { name: 'jobs', columns: ['key', 'company', 'identity', 'record'] } as const

type JobRow = Candidate &
  StoredTexts &
  ReturnType<typeof toJobFacts> & { readonly company: number; readonly identity: string }

type KnownJob = Pick<JobRow, 'key' | 'identity' | 'record'>

/** Adds jobs, or merges them into the stored ones with the url, else with company, title, location and date. */
export async function importJobs(context: ImportContext, jobs: readonly PreparedJob[]): Promise<Outcome[]> {
  const employers = await importEmployers(context, jobs)
  const identities = jobs.map(({ job }, index) => {
    const company = employers[index]
    return typeof company === 'number' ? toJobIdentity(job, company) : undefined
  })
  const known = await readIdentities<KnownJob>(context, jobTable, identities)
  const changes: TextChange<JobRow, KnownJob>[] = []
  const outcomes = decideEach(jobs, ({ job, employer }, index) => {
    const company = employers[index]
    if (isInvalid(company)) throw company
    const identity = identities[index]
    if (company === undefined || identity === undefined)
      throw invalid(`no company '${employer.company_name}' is known, or several are: give its company_domain`)
    const [before] = known.find('identity', identity)
    const stored = before && (JSON.parse(before.record) as StoredJob)
    const merged: StoredJob = { ...stored, ...job }
    const row = toJobRow(before?.key ?? context.nextKey('jobs'), company, merged)
    const hasNewTexts = stored?.job_title !== merged.job_title || stored?.description !== merged.description
    changes.push({ row, before, hasNewTexts, said: () => ({ ...job, ...employer }) })
    known.set(row)
    if (!before) return 'added'
    return before.record === row.record ? 'unchanged' : 'updated'
  })
  await context.target.keep(jobTable, changes, async (connection) => writeRows(connection, 'jobs', changes))
  return outcomes
}

export const toJobRow = (key: number, company: number, job: StoredJob): JobRow => ({
  key,
  company,
  identity: toJobIdentity(job, company),
  ...toJobFacts(job),
  record: JSON.stringify(job),
  texts: toJobTexts(job),
})

export const toJobTexts = ({ job_title, description }: StoredJob): [title: string, description: string] => [
  job_title ?? '',
  description ?? '',
]

function toJobIdentity(job: StoredJob, company: number): string {
  if (job.job_url !== undefined) return job.job_url
  const parts = [job.job_title, job.job_location, job.date_posted].map((part) => foldText(part ?? ''))
  return `${company}:${parts.join(':')}`
}

/** Returns facts of the record for searches. A place counts only with a country: names are ambiguous (`Atlanta, Georgia`). */
function toJobFacts({ date_posted, country_code, job_location, employment_statuses }: StoredJob) {
  const [city] = job_location?.split(',', 1) ?? []
  return {
    posted_at: date_posted === undefined ? null : Date.parse(date_posted),
    country: country_code ?? null,
    region: (country_code && findRegion(country_code, city, job_location)) ?? null,
    city: (country_code && foldText(city ?? '')) || null,
    /** Folded, each with a bar on both sides: `|full time|internship|`. */
    statuses: employment_statuses?.length ? `|${employment_statuses.map(foldText).join('|')}|` : null,
  }
}
