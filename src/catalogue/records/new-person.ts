import type { Ids } from '../../engine/ports/ports.js'
import type { IdMaker } from './made-id.js'
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
export function newPerson(
  { fields, employer, id, slug, name }: PreparedPerson,
  ids: Ids,
  makeId: IdMaker,
): NewPerson {
  const own = { id: fields.id ?? ids.uuid(), network_id: id ?? makeId() }
  return {
    employer,
    id,
    slug,
    name,
    email: fields.email,
    phones: fields.phones ?? [],
    messenger: fields.messenger,
    // What was read is nobody else's: a copy would cost as much as all the rest.
    row: personRow(Object.assign(fields, own), slug ?? null),
  }
}
