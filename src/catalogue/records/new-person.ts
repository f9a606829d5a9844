import type { Ids } from '../../engine/ports/ports.js'
import type { PreparedPerson } from './person.js'
import { type PersonRow, toPersonRow } from './person-row.js'

/** A person ready to be written: identifiers, employer, and the row of a new person. */
export interface NewPerson extends Omit<PreparedPerson, 'fields'> {
  readonly email: string | undefined
  readonly phones: readonly string[]
  readonly messenger: boolean | undefined
  /** Without the company, and with new ids unless the person has some. */
  readonly row: PersonRow
}

/** Prepares a person for writing. */
export function toNewPerson(
  { fields, employer, id, slug, name }: PreparedPerson,
  ids: Ids,
  generateId: IdGenerator,
): NewPerson {
  const own = { id: fields.id ?? ids.uuid(), network_id: id ?? generateId() }
  return {
    employer,
    id,
    slug,
    name,
    email: fields.email,
    phones: fields.phones ?? [],
    messenger: fields.messenger,
    // The fields are not used elsewhere, and a copy would take as long as everything else here.
    row: toPersonRow(Object.assign(fields, own), slug ?? null),
  }
}

/** Generates unique ids of people, in the form of the network's ids. */
type IdGenerator = () => string

/**
 * Creates a generator of consecutive ids. They keep the index growing in one place; with random ids, each transaction of a
 * long import would rewrite most of its pages.
 */
export function createIdGenerator(ids: Pick<Ids, 'bytes'>): IdGenerator {
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

/** Returns whether an id was generated; the network's ids are longer. */
export const isGeneratedId = (id: string): boolean => /^ACoAA[\w-]{24}$/.test(id)
