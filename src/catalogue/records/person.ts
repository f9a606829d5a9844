import type { FoundLead, Ids, Lead, Person } from '../../api/ports/ports.js'
import { functions, seniorities } from '../../api/schemas/enumerations.js'
import { dayOf, monthsOf, tenureAt } from '../../api/values/dates.js'
import { type Fields, withoutUndefined } from '../../api/values/objects.js'
import type { LeaveOut } from '../../csv/names.js'
import { foldName, foldPersonName, splitPersonName, toWholeName } from '../../identity/name.js'
import { readPhone } from '../../identity/phone.js'
import { invalid, text } from '../../identity/readers.js'
import { partsOf } from '../../identity/spelling.js'
import { readTitle, type TitleFacts } from '../../identity/titles.js'
import { findRegion } from '../places/place.js'
import { type ParsedFields, personEmployerFields, personFields, readFields, readOr } from './fields.js'
import { leaveOutForeignHost, readProfile, splitNameAndDomain } from './headcount.js'
import { foldOrNull, type StoredAccount, toAccount } from './match-company.js'
import type { Employer } from './write-company.js'

export type NewPerson = ReturnType<typeof preparePerson>

export type PersonFields = ParsedFields<typeof personFields>

/** A stored person. The fields of the company are kept only when it is not in the catalogue. */
export type StoredPerson = PersonFields & Employer & { id: string; network_id: string }

/** Reads a person. Throws when nothing identifies them: no profile url, email address, or name with company. */
export function preparePerson(
  raw: Fields,
  ids: Pick<Ids, 'uuid'>,
  generateId: () => string,
  leaveOut: LeaveOut,
) {
  const fields: PersonFields = readFields(personFields, raw, leaveOut)
  const { company_domain, company_network_url, company_network_id, company_name, current_position } =
    readFields(personEmployerFields, splitNameAndDomain(raw, 'company_name', 'company_domain'), leaveOut)
  const position = current_position ?? {}
  const textOf = (field: string) => readOr(leaveOut, 'current_position', position[field], text)
  const employer: Employer = {
    company_domain,
    company_network_url,
    company_network_id: company_network_id ?? textOf('company_network_id'),
    company_name: company_name ?? textOf('company_name'),
  }
  tidyEmployer(employer, leaveOut)
  completeName(fields, leaveOut)
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
  const id = fields.network_id ?? profiles.find((profile) => profile?.id !== undefined)?.id
  const slug = profiles.find((profile) => profile?.slug !== undefined)?.slug
  const own = { id: fields.id ?? ids.uuid(), network_id: id ?? generateId() }
  // Without the company. The fields are not used elsewhere, and a copy would take as long as everything else here.
  const row = toPersonRow(Object.assign(fields, own), slug ?? null)
  const isNamed = row.name !== '' && Object.values(employer).some((value) => value !== undefined)
  if (id === undefined && slug === undefined && fields.email === undefined && !isNamed)
    throw invalid('a person needs a network_profile_url, an email, or a name with a company')
  return {
    employer,
    id,
    slug,
    /** Folded full name; blank when unknown. */
    name: row.name,
    email: fields.email,
    phones: fields.phones ?? [],
    messenger: fields.messenger,
    row,
  }
}

/** Returns a person's full name, or the parts that are known. */
export const toFullName = ({ full_name, first_name, last_name }: PersonFields): string =>
  full_name ?? [first_name, last_name].filter((part) => part !== undefined).join(' ')

/** Fills in the full name from its parts, or the parts from a full name where they are certain. */
function completeName(fields: PersonFields, leaveOut: LeaveOut): void {
  const { first_name, last_name, full_name } = fields
  if (first_name !== undefined && last_name !== undefined) fields.full_name ??= `${first_name} ${last_name}`
  if (full_name === undefined || first_name !== undefined || last_name !== undefined) return
  const whole = toWholeName(full_name)
  if (whole === undefined) {
    delete fields.full_name
    leaveOut('full_name', full_name, 'full_name is not one person, or may be read in several ways')
    return
  }
  if (full_name.includes(',') || foldPersonName(full_name) !== foldPersonName(whole)) fields.full_name = whole
  const parts = splitPersonName(full_name)
  if (!parts) return
  const [first, last] = parts
  if (first !== undefined) fields.first_name = first
  fields.last_name = last
}

function readPhones({ phones, country }: PersonFields, { phone }: Fields, leaveOut: LeaveOut) {
  const read = (field: string) => (number: string) =>
    readOr(leaveOut, field, number, () => readPhone(number, country)) ?? []
  const others = partsOf(readOr(leaveOut, 'phone', phone, text) ?? '')
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

/** A person as stored: what they are found by, and columns that repeat facts of the record for searches. */
export type PersonRow = ReturnType<typeof toPersonRow>

export const toPersonRow = (person: StoredPerson, slug: string | null) => ({
  ...toPersonFacts(person),
  network_id: person.network_id,
  slug,
  /** Folded full name; blank when unknown. */
  name: foldPersonName(toFullName(person)),
  record: JSON.stringify(person),
  texts: toPersonTexts(person),
})

function toPersonFacts(person: StoredPerson) {
  const since = toDayNumber(person.started_at)
  const position = positionOf(person)
  return {
    email: person.email ?? null,
    personal_email: person.personal_email ?? null,
    country: person.country ?? null,
    region: findRegion(person.country, person.city, person.location) ?? null,
    city: foldOrNull(person.city),
    seniority: seniorityIds.get(position.seniority) ?? null,
    function: functionIds.get(position.function) ?? null,
    /** The folded name of a company that is not in the catalogue. */
    employer: person.company_name === undefined ? null : foldName(person.company_name),
    first_name: foldOrNull(person.first_name),
    last_name: foldOrNull(person.last_name),
    years_of_experience: person.years_of_experience ?? null,
    /** A day as a number such as 20260131, which takes precedence over `months_in_position`. */
    position_since: since,
    months_in_position: since === null ? toMonths(person.years_in_position, person.months_in_position) : null,
    months_in_company: toMonths(person.years_in_company, person.months_in_company),
  }
}

/** Returns the seniority and function of a person: as imported, else as the title says. */
function positionOf({ seniority, function: area, title }: PersonFields) {
  const said: TitleFacts = seniority !== undefined && area !== undefined ? {} : readTitle(title)
  return { seniority: seniority ?? said.seniority, function: area ?? said.function }
}

const idsOf = (labels: Readonly<Record<string, string>>): ReadonlyMap<string | undefined, number> =>
  new Map(Object.entries(labels).map(([id, label]) => [label, Number(id)]))
const seniorityIds = idsOf(seniorities)
const functionIds = idsOf(functions)

/** Returns the texts of keyword searches, in the order of their columns. */
export const toPersonTexts = ({
  full_name = '',
  title = '',
  headline,
  summary,
  past_positions = [],
}: StoredPerson): string[] => [
  full_name,
  title,
  [headline, summary].filter(Boolean).join(' '),
  joinPastTitles(past_positions),
  joinPastEmployers(past_positions),
]

function toDayNumber(startedAt: string | undefined): number | null {
  const day = startedAt?.slice(0, 10)
  return day === undefined || dayOf(day) === undefined ? null : Number(day.replaceAll('-', ''))
}

const toMonths = (years: number | undefined, months: number | undefined): number | null =>
  years === undefined && months === undefined ? null : monthsOf(years, months)

// Characters of private use are parts of words (`full-text/words.ts`), and do not occur in texts.
const boundary = '\u{e000}'
const joiner = '\u{e001}'
const namePrefix = '\u{e002}'
const idPrefix = '\u{e003}'

/** Joins the titles of past positions, so that no phrase matches across two titles. */
const joinPastTitles = (positions: readonly Fields[]): string =>
  positions.flatMap(({ title }) => toTexts(title)).join(` ${boundary} `)

/** Joins the companies of past positions, with one word for each name and each network id. */
const joinPastEmployers = (positions: readonly Fields[]): string =>
  positions
    .flatMap(({ company_name, company_network_id }) => [
      ...toTexts(company_name).map(toNameWord),
      ...toTexts(company_network_id).map(toIdWord),
    ])
    .join(' ')

/** Returns the words that find a past company by name or id in the text of `joinPastEmployers`. */
export const toEmployerWords = (text: string): readonly string[] => [toNameWord(text), toIdWord(text)]

const toNameWord = (name: string): string => namePrefix + toOneWord(foldName(name))
const toIdWord = (id: string): string => idPrefix + toOneWord(id)
const toOneWord = (words: string): string => words.replace(/[^\p{L}\p{M}\p{N}]/gu, joiner)

/** Returns text or a number as text. Positions are stored unchecked, so other values are possible. */
function toTexts(value: unknown): string[] {
  const words = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  return words === '' ? [] : [words]
}

/** A stored person, and the record of the company when it is in the catalogue. */
export interface FoundPerson {
  readonly key: number
  readonly network_id: string
  readonly slug: string | null
  readonly record: string
  readonly company: string | null
}

/** Begins a query for `FoundPerson` rows; a condition follows. */
export const selectPeople = `SELECT people.key, people.network_id, people.slug, people.record, companies.record AS company
  FROM people LEFT JOIN companies ON companies.key = people.company WHERE`

/** Returns the person record of a stored person, with every key; tenures are as imported. */
export function toPerson({ record, company }: FoundPerson): Person {
  const known = JSON.parse(record) as StoredPerson
  const employer = company === null ? undefined : (JSON.parse(company) as StoredAccount)
  const company_name = employer?.name ?? known.company_name ?? null
  return {
    id: known.id,
    status: 'QUALIFIED',
    first_name: known.first_name ?? null,
    last_name: known.last_name ?? null,
    full_name: toFullName(known) || null,
    ...orNull({ ...known, ...withoutUndefined(positionOf(known)) }, profile),
    company_name,
    company_domain: employer?.domain ?? known.company_domain ?? null,
    current_position: toCurrentPosition(known, company_name, employer?.network_id ?? null),
    ...orNull(known, tenure),
    network_id: known.network_id,
    ...orNull(known, urls),
    ...toContactFields(known),
  }
}

/** Returns fields of a stored person; null where one is absent. */
const orNull = <K extends keyof StoredPerson>(known: StoredPerson, names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, known[name] ?? null])) as {
    [N in K]: NonNullable<StoredPerson[N]> | null
  }

const urls = ['network_profile_url', 'premium_profile_url', 'profile_image_url'] as const
const profile = [
  ...(['title', 'headline', 'summary', 'seniority', 'function'] as const),
  ...(['location', 'city', 'country', 'connections_count'] as const),
]
const leadFlags = ['is_premium_network', 'is_open_profile_network', 'is_open_to_work_network'] as const
const leadCounts = ['connection_degree', 'connections_count', 'current_positions_count'] as const
const tenure = ['years_in_position', 'months_in_position', 'years_in_company', 'months_in_company'] as const

const toContactFields = (known: StoredPerson) => ({
  most_probable_email: known.email ?? null,
  most_probable_email_status: known.email === undefined ? null : (known.email_status ?? 'valid'),
  phones: known.phones ?? [],
})

function toCurrentPosition(
  known: StoredPerson,
  company_name: string | null,
  company_network_id: string | null,
): Person['current_position'] {
  const title = known.title ?? null
  const started_at = known.started_at ?? null
  if (title === null && started_at === null && company_name === null) return null
  return { title, company_name, company_network_id, started_at }
}

export type PersonAtCompany = Pick<FoundPerson, 'record' | 'company'>

/** Returns the lead and its company, with every key; tenures are computed up to `now`. */
export function toLead({ record, company }: PersonAtCompany, now: number): FoundLead {
  const known = JSON.parse(record) as StoredPerson
  return {
    network_id: known.network_id ?? null,
    lead: toLeadFields(known, now),
    company: company === null ? null : toAccount(company),
  }
}

const toLeadFields = (known: StoredPerson, now: number): Lead['lead'] => ({
  ...orNull(known, ['first_name', 'last_name']),
  full_name: toFullName(known) || null,
  ...orNull(known, ['gender', 'title', 'title_description', 'summary']),
  ...toContactFields(known),
  ...orNull(known, urls),
  ...orNull(known, leadFlags),
  ...orNull(known, leadCounts),
  ...tenureAt(known.started_at, orNull(known, tenure), now),
  status: 'QUALIFIED',
  rejection_reason: [],
  headline: known.headline ?? null,
})
