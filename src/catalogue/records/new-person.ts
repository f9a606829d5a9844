import type { Ids } from '../../engine/ports/ports.js'
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

/** Makes an id of a person in the form of the network's own; no two are the same. */
export type IdMaker = () => string

/**
 * Ids of one maker follow each other, so that the index they are found by grows in one place: at random places, each
 * transaction of a long import would write most of its pages again.
 */
export function idMaker(ids: Pick<Ids, 'bytes'>): IdMaker {
  const own = ids.bytes(14)
  const bytes = Buffer.alloc(18)
  bytes.set(own.subarray(0, 8))
  bytes.set(own.subarray(8), 12)
  let count = 0
  return () => {
    bytes.writeUInt32BE(count, 8)
    count += 1
    return `ACoAA${bytes.toString('base64url')}`
  }
}

/** Whether an id was made here: the network's own are longer. */
export const isMade = (id: string): boolean => /^ACoAA[\w-]{24}$/.test(id)
