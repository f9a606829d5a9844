import { emptyRecord } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Account, Person, PersonQuery, VendorReply } from '../../api/ports/ports.js'
import type { Awaitable } from '../../api/values/objects.js'
import type { HandlerContext } from './handler.js'
import { newNotes, notAsked, type VendorNotes } from './waterfall.js'

type Asks = Pick<HandlerContext<'leads.enrich'>, 'vendors' | 'principal' | 'asking' | 'columns'>

/** What vendors can be asked for as a whole record. */
interface Records {
  readonly person: Person
  readonly company: Account
}

/** What a vendor found, with its name. */
type Found = Required<Pick<VendorReply, 'name' | 'fields'>>

/** Asks data vendors about a person or company that the catalogue lacks. `notes` gets lost answers and vendors not asked. */
export async function askVendorsFor<K extends keyof Records>(
  { vendors, principal, asking, columns: [columns] }: Asks,
  kind: K,
  subject: PersonQuery & { readonly country?: string | undefined },
  notes: VendorNotes,
): Promise<Records[K] | undefined> {
  if (!vendors || !(await vendors.has(principal.workspace.id))) return undefined
  const own = newNotes()
  for await (const { name, is, fields, why = '' } of vendors.ask(kind, { ...subject, columns }, asking())) {
    if (fields) return { ...(await toRecord[kind]({ name, fields })), source: name, ...notAskedOf(own) }
    if (is === 'unknown') own.lost.add(name)
    if (is === 'skipped') own.skipped.set(name, why)
  }
  for (const name of own.lost) notes.lost.add(name)
  for (const [name, why] of own.skipped) notes.skipped.set(name, why)
  return undefined
}

/** Answers a request with several items: from the catalogue, which is paid for, else from data vendors. */
export async function answerItems<I, T extends Person | Account>(
  items: readonly I[],
  find: (item: I) => Awaitable<T | undefined>,
  ask: (item: I, notes: VendorNotes) => Promise<T | undefined>,
  show: (record: T) => T,
) {
  const found = await Promise.all(items.map(find))
  const notes = newNotes()
  const all = await Promise.all(items.map(async (item, at) => found[at] ?? ask(item, notes)))
  const results = all.map((record) => (record ? show(record) : null))
  return {
    output: { results, ...(notes.lost.size > 0 && { answers_lost: [...notes.lost] }) },
    paid: found.filter(Boolean).length,
  }
}

/** Returns what nobody knows is refused with: a lost answer may be charged. */
export const unlessLost = (notes: VendorNotes, none: 'no_person_found' | 'no_company_found') =>
  notes.lost.size > 0
    ? new ApiError('vendor_answer_lost', { names: [...notes.lost].join(', '), answers_lost: [...notes.lost] })
    : new ApiError(none, notAskedOf(notes))

const notAskedOf = (notes: VendorNotes) => (notes.skipped.size > 0 ? { not_asked: notAsked(notes) } : {})

/** What a vendor said, as the record of the API. */
const toRecord: { readonly [K in keyof Records]: (found: Found) => Promise<Records[K]> } = {
  person: async ({ name, fields }) => {
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
      phones: numbersIn(phone),
    }
  },
  company: async ({ name, fields }) => {
    const { phone = [], technologies = [], ...known } = fields
    const account = { ...(await emptyRecord('accounts.enrich')), ...known, technologies } as Omit<
      Account,
      'id'
    >
    const id = `${name}:${account.domain ?? account.name ?? ''}`
    return { id, ...account, phone: numbersIn(phone)[0] ?? null }
  },
}

const numbersIn = (phone: unknown): string[] =>
  (phone as readonly { readonly number: string }[]).map(({ number }) => number)
