import type { Ids } from '../engine/ports.js'
import { makeId } from './made-id.js'
import type { PreparedPerson } from './person.js'
import { type PersonRow, personRow } from './person-row.js'

/** A person ready to be written: how they and their company are known, and their row as somebody new. */
export interface NewPerson extends Omit<PreparedPerson, 'fields'> {
  readonly email: string | undefined
  readonly phones: readonly string[]
  readonly messenger: boolean | undefined
  /** With ids of its own where none are given, and without the company. */
  readonly row: PersonRow
}

/** Makes a person that was read ready to be written. */
export function newPerson({ fields, ...known }: PreparedPerson, ids: Ids): NewPerson {
  const person = { ...fields, id: fields.id ?? ids.uuid(), network_id: known.id ?? makeId(ids) }
  return {
    ...known,
    email: fields.email,
    phones: fields.phones ?? [],
    messenger: fields.messenger,
    row: personRow(person, known.slug ?? null),
  }
}
