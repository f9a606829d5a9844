import type { LeaveOut } from '../../csv/names.js'
import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { readPhone } from '../normalize/phone.js'
import { InvalidRecordError, text } from '../normalize/readers.js'
import { leaveOutForeignHost, readProfile } from './company.js'
import { type ParsedFields, personEmployerFields, personFields, readFields, readOr } from './fields.js'
import type { Employer } from './write-employer.js'

/** A person that was read. */
export interface PreparedPerson {
  readonly fields: PersonFields
  readonly employer: Employer
  readonly id: string | undefined
  readonly slug: string | undefined
  /** Folded full name; blank when unknown. */
  readonly name: string
}

/** The fields of a person's record. */
export type PersonFields = ParsedFields<typeof personFields>

/** A stored person. The fields of the company are kept only when it is not in the catalogue. */
export type StoredPerson = PersonFields & Employer & { id: string; network_id: string }

/** Reads a person. Throws when nothing identifies them: no profile url, email address, or name with company. */
export function preparePerson(raw: RawRecord, leaveOut: LeaveOut): PreparedPerson {
  const fields: PersonFields = readFields(personFields, raw, leaveOut)
  const { company_domain, company_network_url, company_network_id, company_name, current_position } =
    readFields(personEmployerFields, raw, leaveOut)
  const position = current_position ?? {}
  const textOf = (field: string) => readOr(leaveOut, 'current_position', position[field], text)
  const employer: Employer = {
    company_domain,
    company_network_url,
    company_network_id: company_network_id ?? textOf('company_network_id'),
    company_name: company_name ?? textOf('company_name'),
  }
  tidyEmployer(employer, leaveOut)
  completeName(fields)
  const [title, since] = [textOf('title'), textOf('started_at')]
  if (title !== undefined) fields.title ??= title
  if (since !== undefined) fields.started_at ??= since
  const phones = readPhones(fields, raw, leaveOut)
  if (phones) fields.phones = phones
  if (fields.email !== undefined) fields.email_status ??= toDefaultStatus(raw.email_status)
  if (fields.personal_email !== undefined)
    fields.personal_email_status ??= toDefaultStatus(raw.personal_email_status)
  const profiles = [
    readProfile(fields, 'network_profile_url', 'person', leaveOut),
    readProfile(fields, 'premium_profile_url', 'person', leaveOut),
  ]
  const prepared = {
    fields,
    employer,
    id: fields.network_id ?? profiles.find((profile) => profile?.id !== undefined)?.id,
    slug: profiles.find((profile) => profile?.slug !== undefined)?.slug,
    name: foldText(toFullName(fields)),
  }
  if (!isIdentified(prepared))
    throw new InvalidRecordError('a person needs a network_profile_url, an email, or a name with a company')
  return prepared
}

const isIdentified = ({ id, slug, fields, name, employer }: PreparedPerson): boolean =>
  id !== undefined ||
  slug !== undefined ||
  fields.email !== undefined ||
  (name !== '' && Object.values(employer).some((value) => value !== undefined))

/** Returns a person's full name, or the parts that are known. */
export const toFullName = ({ full_name, first_name, last_name }: PersonFields): string =>
  full_name ?? [first_name, last_name].filter((part) => part !== undefined).join(' ')

/** Fills in the full name from its parts, or the parts from a full name of two words. */
function completeName(fields: PersonFields): void {
  const { first_name, last_name, full_name } = fields
  if (first_name !== undefined && last_name !== undefined) fields.full_name ??= `${first_name} ${last_name}`
  const [first, last, ...more] = full_name?.split(/\s+/) ?? []
  if (first_name !== undefined || last_name !== undefined || more.length > 0) return
  if (first === undefined || last === undefined) return
  fields.first_name = first
  fields.last_name = last
}

function readPhones(
  { phones, country }: PersonFields,
  { phone }: RawRecord,
  leaveOut: LeaveOut,
): string[] | undefined {
  const read = (field: string) => (number: string) =>
    readOr(leaveOut, field, number, () => readPhone(number, country)) ?? []
  const others = readOr(leaveOut, 'phone', phone, text)?.split(';') ?? []
  const numbers = [...(phones ?? []).flatMap(read('phones')), ...others.flatMap(read('phone'))]
  return numbers.length === 0 && !phones ? undefined : [...new Set(numbers)]
}

/** Returns the status of an address without one. A word that says nothing, or is not understood, vouches for none. */
const toDefaultStatus = (word: unknown): 'valid' | 'risky' =>
  String(word ?? '').trim() === '' ? 'valid' : 'risky'

/** Leaves out what does not identify an employer. */
export function tidyEmployer(employer: Employer, leaveOut: LeaveOut): void {
  // A host that many share is the employer's own only where its name says so.
  leaveOutForeignHost(employer, 'company_domain', employer.company_name ?? '', leaveOut)
  readProfile(employer, 'company_network_url', 'company', leaveOut)
}
