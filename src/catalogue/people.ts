import { functions, seniorities } from '../api/ids.js'
import type { Connection, Value } from '../storage/driver.js'
import { type Employer, employerKey } from './employer.js'
import { type Fields, readFields } from './fields.js'
import type { Given } from './kind.js'
import { foldText } from './name.js'
import { phoneOf } from './phone.js'
import { type Profile, profileOf } from './profile.js'
import { object, short, text, Unreadable } from './values.js'
import type { Writing, Written } from './writing.js'

/** A stored person: the given fields; the company's only where it is not in the catalogue. */
export type StoredPerson = Fields<'people'> & { id: string; network_id: string }

/** A person read from a file or the sample, ready to be written. */
export interface PreparedPerson {
  readonly fields: Fields<'people'>
  readonly employer: Employer
  readonly id: string | undefined
  readonly slug: string | undefined
  /** Folded full name; blank when there is none. */
  readonly name: string
}

/** Reads a given person. Refuses one that nothing identifies: no profile url, e-mail, or name with company. */
export function preparePerson(given: Given): PreparedPerson {
  const { company_domain, company_network_url, company_network_id, company_name, ...own } = readFields('people', given)
  const employer = { company_domain, company_network_url, company_network_id, company_name }
  const fields = { ...own, ...namesOf(own), ...positionOf(own, given), ...phonesOf(own, given) }
  if (fields.email !== undefined) fields.email_status ??= 'valid'
  if (fields.personal_email !== undefined) fields.personal_email_status ??= 'valid'
  const profiles = [personAt('network_profile_url', fields), personAt('premium_profile_url', fields)]
  const id = fields.network_id ?? profiles.find((profile) => profile?.id !== undefined)?.id
  const slug = profiles.find((profile) => profile?.slug !== undefined)?.slug
  const name = foldText(fields.full_name ?? '')
  const hasCompany = Object.values(employer).some((value) => value !== undefined)
  if (id === undefined && slug === undefined && fields.email === undefined && !(name !== '' && hasCompany))
    throw new Unreadable('a person needs a network_profile_url, an email, or a name with a company')
  return { fields, employer, id, slug, name }
}

/** Adds a person, or merges what is given over the one there is with the profile, else e-mail, else name and company. */
export async function writePerson(writing: Writing, prepared: PreparedPerson): Promise<Written> {
  const { connection } = writing
  const company = await employerKey(writing, prepared.employer)
  const existing = await existingPerson(connection, prepared, company)
  const before = existing ? (JSON.parse(existing.record) as StoredPerson) : undefined
  const networkId = prepared.id ?? before?.network_id ?? newNetworkId(writing)
  const id = before?.id ?? prepared.fields.id ?? writing.ids.uuid()
  const unlinked = company === undefined ? given(prepared.employer) : {}
  const after: StoredPerson = { ...before, ...unlinked, ...prepared.fields, id, network_id: networkId }
  const key = existing?.key ?? (await writing.nextKey('people'))
  await writeRow(connection, key, existing, prepared, company ?? existing?.company ?? null, before, after)
  if (after.phones) await writePhones(connection, key, before?.phones ?? [], after.phones, after.messenger)
  return existing ? 'updated' : 'added'
}

const given = (employer: Employer): Partial<Employer> =>
  Object.fromEntries(Object.entries(employer).filter(([, value]) => value !== undefined))

type Named = Pick<Fields<'people'>, 'first_name' | 'last_name' | 'full_name'>

function namesOf({ first_name, last_name, full_name }: Named): Named {
  const parts = [first_name, last_name].filter((part) => part !== undefined)
  if (full_name === undefined) return parts.length === 0 ? {} : { full_name: parts.join(' ') }
  const words = full_name.split(/\s+/)
  const [first, last] = words
  return parts.length === 0 && words.length === 2 && first && last ? { first_name: first, last_name: last } : {}
}

/** A position says its title and beginning; the company it names is the person's. */
function positionOf({ current_position, title, started_at }: Fields<'people'>, given: Given): Fields<'people'> {
  const position = current_position ?? (given.current_position === undefined ? undefined : object(given.current_position))
  if (!position) return {}
  const [heldTitle, since] = [title ?? text(position.title), started_at ?? text(position.started_at)]
  return { ...(heldTitle === undefined ? {} : { title: heldTitle }), ...(since === undefined ? {} : { started_at: since }) }
}

function phonesOf({ phones, country }: Fields<'people'>, { phone }: Given): Fields<'people'> {
  const all = [...(phones ?? []), ...(text(phone)?.split(';') ?? [])]
  const numbers = all.map((number) => phoneOf(number, country)).filter((number) => number !== undefined)
  return numbers.length === 0 && !phones ? {} : { phones: [...new Set(numbers)] }
}

function personAt(field: 'network_profile_url' | 'premium_profile_url', fields: Fields<'people'>): Profile | undefined {
  const url = fields[field]
  if (url === undefined) return undefined
  const profile = profileOf(url)
  if (profile?.kind !== 'person') throw new Unreadable(`${field}: '${short(url)}' is not the profile url of a person`)
  return profile
}

interface PersonRow {
  readonly key: number
  readonly company: number | null
  readonly slug: string | null
  readonly email: string | null
  readonly record: string
}
