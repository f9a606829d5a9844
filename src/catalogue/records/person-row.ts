import { functions, seniorities } from '../../api/schemas/enumerations.js'
import { dayOf, monthsOf } from '../../api/values/dates.js'
import { foldName, foldText } from '../normalize/name.js'
import { findRegion } from '../places/place.js'
import { foldOrNull, type StoredTexts } from './company-row.js'
import { type StoredPerson, toFullName } from './person.js'

/** A person as stored: what they are found by, and columns that repeat facts of the record for searches. */
export interface PersonRow extends PersonFacts, StoredTexts {
  readonly network_id: string
  readonly slug: string | null
  /** Folded full name; blank when unknown. */
  readonly name: string
}

type PersonFacts = ReturnType<typeof toPersonFacts>

export const toPersonRow = (person: StoredPerson, slug: string | null): PersonRow => ({
  network_id: person.network_id,
  slug,
  name: foldText(toFullName(person)),
  ...toPersonFacts(person),
  record: JSON.stringify(person),
  texts: toPersonTexts(person),
})

function toPersonFacts(person: StoredPerson) {
  const since = toDayNumber(person.started_at)
  return {
    email: person.email ?? null,
    personal_email: person.personal_email ?? null,
    country: person.country ?? null,
    region: findRegion(person.country, person.city, person.location) ?? null,
    city: foldOrNull(person.city),
    seniority: seniorityIds.get(person.seniority) ?? null,
    function: functionIds.get(person.function) ?? null,
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

const idsOf = (labels: Readonly<Record<string, string>>): ReadonlyMap<string | undefined, number> =>
  new Map(Object.entries(labels).map(([id, label]) => [label, Number(id)]))
const seniorityIds = idsOf(seniorities)
const functionIds = idsOf(functions)

/** Returns the texts of keyword searches, in the order of their columns. */
export const toPersonTexts = ({ past_positions = [], ...person }: StoredPerson): string[] => [
  person.full_name ?? '',
  person.title ?? '',
  [person.headline, person.summary].filter(Boolean).join(' '),
  joinPastTitles(past_positions),
  joinPastEmployers(past_positions),
]

function toDayNumber(startedAt: string | undefined): number | null {
  const day = startedAt?.slice(0, 10)
  return day === undefined || dayOf(day) === undefined ? null : Number(day.replaceAll('-', ''))
}

const toMonths = (years: number | undefined, months: number | undefined): number | null =>
  years === undefined && months === undefined ? null : monthsOf(years, months)

/** A past position as imported. */
type PastPosition = Readonly<Record<string, unknown>>

// The tokenizer treats private-use characters as letters, and they do not occur in texts.
const boundary = '\u{e000}'
const joiner = '\u{e001}'
const namePrefix = '\u{e002}'
const idPrefix = '\u{e003}'

/** Joins the titles of past positions, so that no phrase matches across two titles. */
const joinPastTitles = (positions: readonly PastPosition[]): string =>
  positions.flatMap(({ title }) => toTexts(title)).join(` ${boundary} `)

/** Joins the companies of past positions, with one word for each name and each network id. */
const joinPastEmployers = (positions: readonly PastPosition[]): string =>
  positions
    .flatMap(({ company_name, company_network_id }) => [
      ...toTexts(company_name).map(toNameWord),
      ...toTexts(company_network_id).map(toIdWord),
    ])
    .join(' ')

/** Returns the words that find a past company by name or id in the text of `joinPastEmployers`. */
export const toEmployerWords = (nameOrId: string): readonly string[] => [
  toNameWord(nameOrId),
  toIdWord(nameOrId),
]

const toNameWord = (name: string): string => namePrefix + toOneWord(foldName(name))
const toIdWord = (id: string): string => idPrefix + toOneWord(id)
const toOneWord = (words: string): string => words.replace(/[^\p{L}\p{M}\p{N}]/gu, joiner)

/** Returns text or a number as text. Positions are stored unchecked, so other values are possible. */
function toTexts(value: unknown): string[] {
  const words = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  return words === '' ? [] : [words]
}
