import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { readPhone } from '../normalize/phone.js'
import { type NetworkProfile, parseProfile } from '../normalize/profile.js'
import { InvalidRecordError, shorten, text } from '../normalize/readers.js'
import { type ParsedFields, personEmployerFields, personFields, readFields } from './fields.js'
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

/** Reads a person. Throws when nothing identifies them: no profile url, e-mail address, or name with company. */
export function preparePerson(raw: RawRecord): PreparedPerson {
  const fields: PersonFields = readFields(personFields, raw)
  const { company_domain, company_network_url, company_network_id, company_name, current_position } =
    readFields(personEmployerFields, raw)
  const position = current_position ?? {}
  const employer: Employer = {
    company_domain,
    company_network_url,
    company_network_id: company_network_id ?? text(position.company_network_id),
    company_name: company_name ?? text(position.company_name),
  }
  completeName(fields)
  const [title, since] = [text(position.title), text(position.started_at)]
  if (title !== undefined) fields.title ??= title
  if (since !== undefined) fields.started_at ??= since
  const phones = readPhones(fields, raw)
  if (phones) fields.phones = phones
  if (fields.email !== undefined) fields.email_status ??= 'valid'
  if (fields.personal_email !== undefined) fields.personal_email_status ??= 'valid'
  const profiles = [
    readPersonProfile('network_profile_url', fields),
    readPersonProfile('premium_profile_url', fields),
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

function readPhones({ phones, country }: PersonFields, { phone }: RawRecord): string[] | undefined {
  const all = [...(phones ?? []), ...(text(phone)?.split(';') ?? [])]
  const numbers = all.map((number) => readPhone(number, country)).filter((number) => number !== undefined)
  return numbers.length === 0 && !phones ? undefined : [...new Set(numbers)]
}

function readPersonProfile(
  field: 'network_profile_url' | 'premium_profile_url',
  fields: PersonFields,
): NetworkProfile | undefined {
  const url = fields[field]
  if (url === undefined) return undefined
  const profile = parseProfile(url)
  if (profile?.kind !== 'person')
    throw new InvalidRecordError(`${field}: '${shorten(url)}' is not the profile url of a person`)
  return profile
}
