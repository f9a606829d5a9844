import { functions, seniorities } from '../../api/schemas/enumerations.js'
import { dayOf, monthsOf } from '../../api/values/dates.js'
import type { Value } from '../../storage/driver/connection.js'
import { foldName, foldText } from '../normalize/name.js'
import { regionOf } from '../places/place.js'
import { foldedOrNull } from './company-row.js'
import { fullName, type StoredPerson } from './person.js'

/** Columns of people that repeat what the record says, to be found and filtered by. */
export const personColumns = [
  'email',
  'personal_email',
  'country',
  'region',
  'city',
  'seniority',
  'function',
  'employer',
  'first_name',
  'last_name',
  'years_of_experience',
  'position_since',
  'months_in_position',
  'months_in_company',
] as const

/** A person as their table and texts take them. */
export interface PersonRow {
  readonly network_id: string
  readonly slug: string | null
  readonly email: string | null
  /** Folded full name; blank when there is none. */
  readonly name: string
  /** Values of `personColumns`, in their order. */
  readonly facts: readonly Value[]
  /** Their JSON. */
  readonly record: string
  /** What keyword searches look through. */
  readonly texts: readonly string[]
}

/** Makes the row of a person. */
export function personRow(person: StoredPerson, slug: string | null): PersonRow {
  return {
    network_id: person.network_id,
    slug,
    email: person.email ?? null,
    name: foldText(fullName(person)),
    facts: personValues(person),
    record: JSON.stringify(person),
    texts: textsOf(person),
  }
}

/** The columns of a row, all but the company and the key, in the order of `valuesOf`. */
export const personRowColumns = ['network_id', 'slug', 'name', ...personColumns, 'record']

/** The values of a row, in the order of `personRowColumns`. */
export const valuesOf = ({ network_id, slug, name, facts, record }: PersonRow): Value[] => [
  network_id,
  slug,
  name,
  ...facts,
  record,
]

/**
 * The values of these columns, in their order. `employer` is the folded name of a company that is not in the
 * catalogue; `position_since` a day as a number such as 20260131, beside which no given term in the position counts.
 */
export function personValues(person: StoredPerson): Value[] {
  const since = dayNumber(person.started_at)
  return [
    person.email ?? null,
    person.personal_email ?? null,
    person.country ?? null,
    regionOf(person.country, person.city, person.location) ?? null,
    foldedOrNull(person.city),
    seniorityIds.get(person.seniority) ?? null,
    functionIds.get(person.function) ?? null,
    person.company_name === undefined ? null : foldName(person.company_name),
    foldedOrNull(person.first_name),
    foldedOrNull(person.last_name),
    person.years_of_experience ?? null,
    since,
    since === null ? term(person.years_in_position, person.months_in_position) : null,
    term(person.years_in_company, person.months_in_company),
  ]
}

const idsOf = (labels: Readonly<Record<string, string>>): ReadonlyMap<string | undefined, number> =>
  new Map(Object.entries(labels).map(([id, label]) => [label, Number(id)]))
const seniorityIds = idsOf(seniorities)
const functionIds = idsOf(functions)

/** The texts that people are searched by, in the order of their columns. */
export const textsOf = ({ past_positions = [], ...person }: StoredPerson): string[] => [
  person.full_name ?? '',
  person.title ?? '',
  [person.headline, person.summary].filter(Boolean).join(' '),
  pastTitles(past_positions),
  pastEmployers(past_positions),
]

function dayNumber(startedAt: string | undefined): number | null {
  const day = startedAt?.slice(0, 10)
  return day === undefined || dayOf(day) === undefined ? null : Number(day.replaceAll('-', ''))
}

const term = (years: number | undefined, months: number | undefined): number | null =>
  years === undefined && months === undefined ? null : monthsOf(years, months)

/** A post somebody held before, as it was given. */
type PastPost = Readonly<Record<string, unknown>>

// Characters for private use are letters to the tokenizer, and nobody writes them.
const barrier = '\u{e000}'
const joint = '\u{e001}'
const byName = '\u{e002}'
const byId = '\u{e003}'

/** The titles of past posts as one text in which no phrase reaches from one title into the next. */
export const pastTitles = (posts: readonly PastPost[]): string =>
  posts.flatMap(({ title }) => wordsOf(title)).join(` ${barrier} `)

/** The companies of past posts as one text with one word for each name and each id of the network. */
export const pastEmployers = (posts: readonly PastPost[]): string =>
  posts
    .flatMap(({ company_name, company_network_id }) => [
      ...wordsOf(company_name).map(nameWord),
      ...wordsOf(company_network_id).map(idWord),
    ])
    .join(' ')

/** The words by which a past company of this name, or of this id, is found in that text. */
export const employerWords = (nameOrId: string): readonly string[] => [nameWord(nameOrId), idWord(nameOrId)]

const nameWord = (name: string): string => byName + oneWord(foldName(name))
const idWord = (id: string): string => byId + oneWord(id)
const oneWord = (words: string): string => words.replace(/[^\p{L}\p{M}\p{N}]/gu, joint)

/** What was given is kept as it came: only text and numbers say something. */
function wordsOf(value: unknown): string[] {
  const words = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  return words === '' ? [] : [words]
}
