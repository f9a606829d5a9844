import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Operation } from '../../api/operations/table.js'
import type { Awaitable } from '../../storage/driver/connection.js'
import { costOf, type Used } from '../credits/cost.js'
import type { Contact, ContactType, FoundEmail, PhoneDetail, Provider } from '../ports/ports.js'
import type { Enrichment, WaterfallAsk } from '../tables/jobs.js'

/** A contact's result, as it is stored and delivered. */
export type ContactResult = Omit<OutputOf<'contacts.enrich_sync'>, 'phones' | 'phone_status'>

/** What a waterfall finds: a contact's result without the fields that the enrichment adds. */
type Reached = Omit<ContactResult, 'enrichment_id' | 'status' | 'credits_used' | 'custom'>

/** Throws 422 when personal addresses are requested for a member who has not consented. */
export function requireConsent(types: readonly ContactType[], consentGiven: boolean): void {
  if (types.includes('personal_email') && !consentGiven) throw new ApiError('consent_required')
}

/**
 * Asks the providers in order, type by type, until one has an acceptable answer, and counts what is to be paid. A
 * provider that fails is skipped. When all providers of a type failed, the first failure is thrown, because there may
 * be an answer.
 */
export async function runWaterfall(
  providers: readonly Provider[],
  contact: Contact,
  { types, ...only }: WaterfallAsk,
): Promise<{ readonly found: Reached; readonly used: Used }> {
  const who = await identifyContact({ providers, contact })
  const tour: Tour = { providers, contact: who }
  const asked = (type: ContactType) => types.includes(type)
  const email = asked('email') ? await firstEmail(tour, ({ email }) => email) : undefined
  const personal = asked('personal_email')
    ? await firstEmail(tour, ({ personalEmail }) => personalEmail)
    : undefined
  const phones = asked('phone') ? await firstPhones(tour, only) : []
  const nothing = !email && !personal && phones.length === 0
  const found: Reached = {
    first_name: who.firstName ?? null,
    last_name: who.lastName ?? null,
    network_profile_url: who.url ?? null,
    ...(asked('email') && { email: email?.email ?? null, email_status: email?.status ?? null }),
    ...(asked('personal_email') && {
      personal_email: personal?.email ?? null,
      personal_email_status: personal?.status ?? null,
    }),
    ...(asked('phone') && { phone: phones.map(({ number }) => number), phone_details: [...phones] }),
    ...(nothing && { message: 'No data found' }),
  }
  const used: Used = {
    ...(isAcceptable(email) && { email: 1 }),
    ...(isAcceptable(personal) && { personal_email: 1 }),
    ...(phones.length > 0 && { phone: 1 }),
  }
  return { found, used }
}

/** The providers to ask, and the contact to ask about. */
interface Tour {
  readonly providers: readonly Provider[]
  readonly contact: Contact
}

/** Returns the method of a provider that answers the question; `undefined` when it has none. */
type Question<T> = (provider: Provider) => ((contact: Contact) => Awaitable<T>) | undefined

/** Yields the answers of the providers one by one; the next provider is asked only when the next answer is wanted. */
async function* askProviders<T>({ providers, contact }: Tour, question: Question<T>): AsyncGenerator<T> {
  const failures: unknown[] = []
  let answered = 0
  for (const provider of providers) {
    const ask = question(provider)
    if (!ask) continue
    try {
      const answer = await ask.call(provider, contact)
      answered++
      yield answer
    } catch (error) {
      failures.push(error)
    }
  }
  if (answered === 0 && failures.length > 0) throw failures[0]
}

const isAcceptable = (found: FoundEmail | undefined): boolean =>
  found !== undefined && found.status !== 'invalid'

/** Returns the first address that can be written to, otherwise one that is known to be wrong. */
async function firstEmail(
  tour: Tour,
  question: Question<FoundEmail | undefined>,
): Promise<FoundEmail | undefined> {
  let wrong: FoundEmail | undefined
  for await (const found of askProviders(tour, question)) {
    if (isAcceptable(found)) return found
    wrong ??= found
  }
  return wrong
}

/** Returns the wanted numbers of the first provider that has some. */
async function firstPhones(tour: Tour, only: Omit<WaterfallAsk, 'types'>): Promise<readonly PhoneDetail[]> {
  for await (const phones of askProviders(tour, ({ phones }) => phones)) {
    const wanted = new Map(phones.filter((phone) => isWanted(phone, only)).map((one) => [one.number, one]))
    if (wanted.size > 0) return [...wanted.values()]
  }
  return []
}

/** Where landlines and mobiles share their numbers, as in North America, they cannot be told apart: those count. */
const isWanted = (
  { type, country_code }: PhoneDetail,
  { mobileOnly, phoneCountryCodes }: Omit<WaterfallAsk, 'types'>,
): boolean =>
  (!mobileOnly || type === 'mobile' || type === 'fixed_or_mobile') &&
  (phoneCountryCodes.length === 0 || (country_code !== null && phoneCountryCodes.includes(country_code)))

/** Completes the contact with what the first provider that recognises it knows. */
async function identifyContact(tour: Tour): Promise<Contact> {
  const { contact } = tour
  if (contact.url && contact.firstName && contact.lastName && isEmployed(contact)) return contact
  try {
    for await (const known of askProviders(tour, ({ person }) => person))
      if (known) return mergeContact(contact, known)
  } catch {
    // Identifying was not requested, so a failure to identify is no failure.
  }
  return contact
}

const isEmployed = ({ domain, companyName }: Contact): boolean => Boolean(domain || companyName)

/** Adds what is missing. The company is taken as a whole, or a new name could meet the domain of an old employer. */
function mergeContact(contact: Contact, known: Contact): Contact {
  const { domain, companyName } = isEmployed(contact) ? contact : known
  return {
    url: contact.url || known.url,
    firstName: contact.firstName || known.firstName,
    lastName: contact.lastName || known.lastName,
    domain,
    companyName,
  }
}

/** Returns the result of a contact from what a waterfall found, with its cost. */
export function toContactRecord(
  operation: Operation,
  { found, used }: { readonly found: Reached; readonly used: Used },
  enrichment: Pick<Enrichment, 'id' | 'custom'>,
): ContactResult {
  const { first_name, last_name, network_profile_url, ...reached } = found
  return {
    enrichment_id: enrichment.id,
    ...{ first_name, last_name, network_profile_url },
    status: 'finished',
    ...reached,
    credits_used: costOf(operation, used),
    ...(enrichment.custom ? { custom: enrichment.custom } : {}),
  }
}

/** Returns the same record before anything is known. */
export function toPendingRecord(
  enrichment: Enrichment,
  contact: Contact | undefined,
  { types }: WaterfallAsk,
): ContactResult {
  return {
    enrichment_id: enrichment.id,
    first_name: enrichment.firstName,
    last_name: enrichment.lastName,
    network_profile_url: contact?.url ?? null,
    status: 'pending',
    ...(types.includes('email') && { email: null, email_status: null }),
    ...(types.includes('personal_email') && { personal_email: null, personal_email_status: null }),
    ...(types.includes('phone') && { phone: [], phone_details: [] }),
    credits_used: 0,
    ...(enrichment.custom ? { custom: enrichment.custom } : {}),
  }
}
