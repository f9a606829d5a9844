import type { Value } from '../storage/driver.js'
import { foldText } from './name.js'
import { fullName, type StoredPerson } from './person.js'
import { personColumns, personValues, textsOf } from './person-columns.js'

/** A person as their table and texts take them. */
export interface PersonRow {
  readonly network_id: string
  readonly slug: string | null
  readonly email: string | null
  /** Folded full name; blank when there is none. */
  readonly name: string
  /** Their JSON. */
  readonly record: string
  /** Values of `personRowColumns`, in their order. */
  readonly values: readonly Value[]
  /** What keyword searches look through. */
  readonly texts: readonly string[]
}

/** The columns that a row fills, all but the company and the key. */
export const personRowColumns = ['network_id', 'slug', 'name', ...personColumns, 'record'] as const

/** Makes the row of a person. */
export function personRow(person: StoredPerson, slug: string | null): PersonRow {
  const { network_id, email = null } = person
  const record = JSON.stringify(person)
  const name = foldText(fullName(person))
  return {
    network_id,
    slug,
    email,
    name,
    record,
    values: [network_id, slug, name, ...personValues(person), record],
    texts: textsOf(person),
  }
}
