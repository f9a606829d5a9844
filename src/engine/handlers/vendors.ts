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

const emptyPerson = {
  first_name: null,
  last_name: null,
  full_name: null,
  title: null,
  headline: null,
  summary: null,
  seniority: null,
  function: null,
  location: null,
  city: null,
  country: null,
  connections_count: null,
  company_name: null,
  company_domain: null,
  current_position: null,
  network_id: null,
  years_in_position: null,
  months_in_position: null,
  years_in_company: null,
  months_in_company: null,
  network_profile_url: null,
  premium_profile_url: null,
  profile_image_url: null,
} satisfies Partial<Person>

/** Returns a person as a vendor knows them. */
export function toVendorPerson({ name, fields, notes }: Found): Person {
  const { email = null, email_status = null, phone = [], ...known } = fields
  const person = { ...emptyPerson, ...known } as Omit<Person, 'id' | 'status'>
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

const emptyAccount = {
  name: null,
  cleaned_name: null,
  domain: null,
  website: null,
  description: null,
  industry: null,
  industry_id: null,
  company_type: null,
  employee_range: null,
  headcount: null,
  headquarters: null,
  location: null,
  city: null,
  country: null,
  founded_year: null,
  revenue: null,
  revenue_currency: null,
  network_id: null,
  network_url: null,
  company_profile_picture: null,
  technologies: [],
} satisfies Partial<Account>

/** Returns a company as a vendor knows it. */
export function toVendorAccount({ name, fields, notes }: Found): Account {
  const { phone = [], ...known } = fields
  const [first] = phone as readonly { readonly number: string }[]
  const account = { ...emptyAccount, ...known } as Omit<Account, 'id'>
  return {
    id: `${name}:${account.domain ?? account.name ?? ''}`,
    ...account,
    phone: first?.number ?? null,
    source: name,
    ...notAskedOf(notes),
  }
}
