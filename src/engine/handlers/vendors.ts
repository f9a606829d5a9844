import { emptyRecord } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Account, Person, PersonQuery, VendorKind, VendorReply } from '../../api/ports/ports.js'
import type { HandlerContext } from './handler.js'
import { newNotes, notAsked, type VendorNotes } from './waterfall.js'

type Asks = Pick<HandlerContext<'leads.enrich'>, 'vendors' | 'asking'>

/** What a vendor found, with its name. */
type Found = Required<Pick<VendorReply, 'name' | 'fields'>> & { readonly notes: VendorNotes }

/**
 * Asks the data vendors of the workspace about a person or a company that the catalogue lacks. Where nobody has an answer, adds
 * to `notes` whose answer was lost and who could not be asked.
 */
export async function askVendorsFor(
  { vendors, asking }: Asks,
  kind: VendorKind,
  subject: PersonQuery & { readonly country?: string | undefined },
  notes: VendorNotes,
): Promise<Found | undefined> {
  const asked = asking()
  if (!vendors || !(await vendors.has(asked.workspaceId))) return undefined
  const own = newNotes()
  for await (const { name, is, fields, why = '' } of vendors.ask(kind, subject, asked)) {
    if (fields) return { name, fields, notes: own }
    if (is === 'unknown') own.lost.add(name)
    if (is === 'skipped') own.skipped.set(name, why)
  }
  for (const name of own.lost) notes.lost.add(name)
  for (const [name, why] of own.skipped) notes.skipped.set(name, why)
  return undefined
}

/** Returns what nobody knows is refused with: a lost answer may be charged. */
export const unlessLost = (notes: VendorNotes, none: 'no_person_found' | 'no_company_found') =>
  notes.lost.size > 0
    ? new ApiError('vendor_answer_lost', { names: [...notes.lost].join(', ') })
    : new ApiError(none, notAskedOf(notes))

const notAskedOf = (notes: VendorNotes) => (notes.skipped.size > 0 ? { not_asked: notAsked(notes) } : {})

export async function toVendorPerson({ name, fields, notes }: Found): Promise<Person> {
  const { email = null, email_status = null, phone = [], ...known } = fields
  const person = { ...(await emptyRecord('leads.enrich')), ...known } as Omit<Person, 'id' | 'status'>
  const { title, company_name } = person
  const isPlaced = title !== null || company_name !== null
  return {
    id: `${name}:${person.network_profile_url ?? email ?? person.full_name ?? ''}`,
    status: 'QUALIFIED',
    ...person,
    current_position: isPlaced ? { title, company_name, company_network_id: null, started_at: null } : null,
    most_probable_email: email as string | null,
    most_probable_email_status: email_status as Person['most_probable_email_status'],
    phones: (phone as readonly { readonly number: string }[]).map(({ number }) => number),
    source: name,
    ...notAskedOf(notes),
  }
}

export async function toVendorAccount({ name, fields, notes }: Found): Promise<Account> {
  const { phone = [], technologies = [], ...known } = fields
  const [first] = phone as readonly { readonly number: string }[]
  const account = { ...(await emptyRecord('accounts.enrich')), ...known } as Omit<Account, 'id'>
  return {
    id: `${name}:${account.domain ?? account.name ?? ''}`,
    ...account,
    technologies: technologies as string[],
    phone: first?.number ?? null,
    source: name,
    ...notAskedOf(notes),
  }
}
