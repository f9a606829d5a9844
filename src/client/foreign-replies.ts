import type { OperationId } from '../api/operations/table.js'
import { emailStatusOf, workStateOf } from '../api/schemas/enumerations.js'
import { type Fields, isObject, withoutUndefined } from '../api/values/objects.js'

/** Returns the body of a success in our words: other servers have other names and words for some values. */
export function readForeignReply(id: OperationId, body: unknown): unknown {
  readForeignWords(body)
  const listed = lists[id]
  const read = listed !== undefined && Array.isArray(body) ? asListing(listed, body) : body
  return isObject(read) ? (readers[id]?.(read) ?? read) : read
}

/** Where listings have their rows. Some servers answer the rows alone. */
const lists: Partial<Record<OperationId, string>> = {
  'lists.list': 'lists',
  'personas.list': 'personas',
  'searches.list': 'searches',
}

/** Returns a listing from a list of its rows, or of pages with rows. */
function asListing(name: string, items: readonly unknown[]): Fields {
  const pages = items.filter(isObject).filter((item) => Array.isArray(item[name]))
  return pages.length === 0
    ? { [name]: items }
    : { ...pages.at(-1), [name]: pages.flatMap((page) => page[name]) }
}

const withId = (persona: unknown): unknown =>
  isObject(persona) && persona.id === undefined && persona.uuid !== undefined
    ? { id: persona.uuid, ...persona }
    : persona

/** Returns the result of a waterfall with its numbers in `phone`; some servers have them in `phones`, with their kinds. */
export function withPhone(contact: Fields): Fields {
  const { phone, phones, phone_details } = contact
  if (!Array.isArray(phones) || phones.length === 0 || (Array.isArray(phone) ? phone.length > 0 : phone))
    return contact
  const details = phones.filter(isObject)
  return {
    ...contact,
    phone: phones.map((one: unknown) => (isObject(one) ? one.number : one)),
    ...(details.length > 0 && phone_details === undefined ? { phone_details: details } : {}),
  }
}

const withPhones = (body: Fields): Fields =>
  Array.isArray(body.contacts)
    ? { ...body, contacts: body.contacts.map((one: unknown) => (isObject(one) ? withPhone(one) : one)) }
    : withPhone(body)

/** Returns a search with its status in `search`, and in our words. */
function withSearch(body: Fields): Fields {
  const { leads, accounts, pagination, ...fields } = body
  const found = isObject(body.search)
    ? body
    : withoutUndefined({ search: fields, leads, accounts, pagination })
  const search = found.search as Fields
  const state = workStateOf(search.status)
  if (state === undefined) return search.status === undefined ? body : found
  return { ...found, search: { ...search, status: state === 'finished' ? 'FINISHED' : 'ERROR' } }
}

const readers: Partial<Record<OperationId, (body: Fields) => unknown>> = {
  'contacts.enrich_sync': withPhone,
  'contacts.get': withPhones,
  'contacts.get_enrichment': withPhones,
  'searches.get': withSearch,
  'personas.get': withId,
  'personas.create': withId,
  'personas.list': (body) =>
    Array.isArray(body.personas) ? { ...body, personas: body.personas.map(withId) } : body,
  'account.show': (body) => {
    const { account, workspace = {} } = body
    return isObject(account) && isObject(workspace) && workspace.plan === undefined
      ? { ...body, workspace: { ...workspace, plan: account.plan } }
      : body
  },
}

const statuses = new Set(['email_status', 'personal_email_status', 'most_probable_email_status'])
const values = new Set(['email', 'personal_email', 'most_probable_email', 'phone'])

/** Changes, in what was read from a server, the words of other services for the status of an address and for no value. */
export function readForeignWords(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  for (const [name, value] of Object.entries(body)) {
    if (name === 'custom') continue
    if (typeof value !== 'string') readForeignWords(value)
    else if (statuses.has(name)) Object.assign(body, { [name]: emailStatusOf(value) })
    else if (values.has(name) && isNone(value)) Object.assign(body, { [name]: null })
  }
}

const isNone = (text: string): boolean => /^n\/a$/i.test(text.trim())
