import type { Value } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import { fullName, type StoredPerson } from './person.js'
import { personColumns, personValues, textsOf } from './person-columns.js'

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
