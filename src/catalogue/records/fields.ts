import { companyTypes, functions, seniorities } from '../../api/schemas/enumerations.js'
import type { Fields } from '../../api/values/objects.js'
import type { LeaveOut } from '../../csv/names.js'
import {
  bool,
  country,
  date,
  decimal,
  domain,
  email,
  emailStatus,
  employeeRange,
  type FieldReader,
  indexedText,
  isInvalid,
  labelFrom,
  nameOfPerson,
  object,
  objects,
  text,
  texts,
  wholeNumber,
} from '../../identity/readers.js'
import type { RecordKind } from '../kinds/kind.js'

const companies = {
  id: indexedText,
  name: text,
  cleaned_name: text,
  original_name: text,
  legal_name: text,
  registry_number: text,
  registry_status: text,
  domain,
  website: text,
  description: text,
  industry: indexedText,
  industry_id: indexedText,
  company_type: labelFrom(companyTypes),
  employee_range: employeeRange,
  headcount: wholeNumber,
  headquarters: text,
  location: text,
  city: text,
  country,
  founded_year: wholeNumber,
  revenue: decimal,
  revenue_currency: text,
  phone: text,
  network_id: text,
  network_url: text,
  company_profile_picture: text,
  technologies: texts,
  technology_details: objects,
  headcount_history: objects,
} as const

const { technologies, technology_details, headcount_history, ...accountFields } = companies
const { original_name: _, ...openAccountFields } = accountFields

/** Fields of a company that its record keeps as they are read; of open data, the name as it was follows from the other. */
export { accountFields, openAccountFields }
/** Fields of a company that tables of their own have. */
export const companyDetailFields = { technologies, technology_details, headcount_history } as const

/** The fields of a company that an account lacks where nothing is known of them. Any other is null there. */
export const absentWhereUnknown: ReadonlySet<string> = new Set<keyof typeof companies>([
  'original_name',
  'legal_name',
  'registry_number',
  'registry_status',
  'technology_details',
  'headcount_history',
])

const employer = {
  company_domain: domain,
  company_network_url: text,
  company_network_id: text,
  company_name: text,
} as const

export const personFields = {
  id: text,
  first_name: nameOfPerson,
  last_name: nameOfPerson,
  full_name: nameOfPerson,
  gender: text,
  title: text,
  title_description: text,
  headline: text,
  summary: text,
  seniority: labelFrom(seniorities),
  function: labelFrom(functions),
  location: text,
  city: text,
  country,
  connections_count: wholeNumber,
  connection_degree: wholeNumber,
  current_positions_count: wholeNumber,
  is_premium_network: bool,
  is_open_profile_network: bool,
  is_open_to_work_network: bool,
  past_positions: objects,
  started_at: date,
  years_in_position: wholeNumber,
  months_in_position: wholeNumber,
  years_in_company: wholeNumber,
  months_in_company: wholeNumber,
  years_of_experience: wholeNumber,
  network_id: text,
  network_profile_url: text,
  premium_profile_url: text,
  profile_image_url: text,
  email,
  email_status: emailStatus,
  personal_email: email,
  personal_email_status: emailStatus,
  phones: texts,
  messenger: bool,
} as const

export const personEmployerFields = { ...employer, current_position: object } as const

export const jobFields = {
  job_title: text,
  job_url: text,
  job_location: text,
  country_code: country,
  employment_statuses: texts,
  date_posted: date,
  description: text,
  hiring_team: objects,
} as const

export const jobEmployerFields = { ...employer, company: object } as const

const posts = {
  post_url: text,
  author_profile_url: text,
  text,
  published_at: date,
  engagers: objects,
} as const

export const fields = {
  companies,
  people: { ...personFields, ...personEmployerFields },
  jobs: { ...jobFields, ...jobEmployerFields },
  posts,
} as const satisfies Record<RecordKind, Record<string, FieldReader<unknown>>>

/** A record with parsed fields; absent ones are missing. */
export type ParsedFields<R extends Readers> = {
  -readonly [F in keyof R]?: R[F] extends FieldReader<infer T> ? T : never
}

export type RecordFields<K extends RecordKind> = ParsedFields<(typeof fields)[K]>

type Readers = Readonly<Record<string, FieldReader<unknown>>>

/** Reads fields of a record, drops all others, and leaves out values that are not understood. Returns `record` with them. */
export function readFields<R extends Readers>(
  readers: R,
  given: Fields,
  leaveOut: LeaveOut,
  record: Record<string, unknown> = {},
) {
  for (const name in given) {
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined
    const value = read && readOr(leaveOut, name, given[name], read)
    if (value !== undefined) record[name] = value
  }
  return record as ParsedFields<R>
}

/** Returns what `read` makes of a value of a field; leaves out a value that it refuses, and returns `undefined`. */
export function readOr<V, T>(leaveOut: LeaveOut, field: string, value: V, read: (value: V) => T) {
  try {
    return read(value)
  } catch (error) {
    if (!isInvalid(error)) throw error
    leaveOut(field, value, `${field}: ${error.message}`)
    return undefined
  }
}
