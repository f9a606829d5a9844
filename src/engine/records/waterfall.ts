import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Used } from '../credits/price.js'
import type {
  Awaitable,
  Contact,
  ContactType,
  FoundEmail,
  PhoneDetail,
  Provider,
  WaterfallAsk,
} from '../ports/ports.js'

/** What a waterfall says of a contact: a contact's result without what the enrichment adds around it. */
export type Reached = Omit<
  OutputOf<'contacts.enrich_sync'>,
  'enrichment_id' | 'status' | 'credits_used' | 'custom'
>

/** Refuses to look for personal addresses on behalf of a member who has not consented (422). */
export function requireConsent(types: readonly ContactType[], consentGiven: boolean): void {
  if (types.includes('personal_email') && !consentGiven) throw new ApiError('consent_required')
}

/**
 * Asks the providers in their order, type by type and only as far as nothing acceptable was found, and counts what is
 * to be paid. A provider that fails is passed over; where everyone who could have answered for a type failed, the
 * first failure is thrown, because nobody knows whether there is something. Throws the signal's reason once it aborts.
 */
export async function waterfall(
  providers: readonly Provider[],
  contact: Contact,
  { types, ...only }: WaterfallAsk,
  signal?: AbortSignal,
): Promise<{ readonly found: Reached; readonly used: Used }> {
  const who = await identifyContact({ providers, contact, signal })
  const tour: Tour = { providers, contact: who, signal }
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

/** Who is asked about whom. */
interface Tour {
  readonly providers: readonly Provider[]
  readonly contact: Contact
  readonly signal: AbortSignal | undefined
}

/** The question put to a provider; nothing where it is none of its business. */
type Question<T> = (provider: Provider) => ((contact: Contact) => Awaitable<T>) | undefined

/** The answers, one provider after the other; who comes later is asked only when the next answer is wanted. */
async function* answers<T>({ providers, contact, signal }: Tour, question: Question<T>): AsyncGenerator<T> {
  const failures: unknown[] = []
  let answered = 0
  for (const provider of providers) {
    const ask = question(provider)
    if (!ask) continue
    signal?.throwIfAborted()
    try {
      const answer = await ask.call(provider, contact)
      answered++
      yield answer
    } catch (error) {
      signal?.throwIfAborted()
      failures.push(error)
    }
  }
  if (answered === 0 && failures.length > 0) throw failures[0]
}

const isAcceptable = (found: FoundEmail | undefined): boolean =>
  found !== undefined && found.status !== 'invalid'

/** The first address that may be written to; else one that is known to be wrong. */
async function firstEmail(
  tour: Tour,
  question: Question<FoundEmail | undefined>,
): Promise<FoundEmail | undefined> {
  let wrong: FoundEmail | undefined
  for await (const found of answers(tour, question)) {
    if (isAcceptable(found)) return found
    wrong ??= found
  }
  return wrong
}

/** The numbers of the first provider of whose numbers some are wanted. */
async function firstPhones(tour: Tour, only: Omit<WaterfallAsk, 'types'>): Promise<readonly PhoneDetail[]> {
  for await (const phones of answers(tour, ({ phones }) => phones)) {
    const wanted = new Map(phones.filter((phone) => isWanted(phone, only)).map((one) => [one.number, one]))
    if (wanted.size > 0) return [...wanted.values()]
  }
  return []
}

/** Where landlines and mobiles share their numbers, as in North America, nobody can tell them apart: those count. */
const isWanted = (
  { type, country_code }: PhoneDetail,
  { mobileOnly, phoneCountryCodes }: Omit<WaterfallAsk, 'types'>,
): boolean =>
  (!mobileOnly || type === 'mobile' || type === 'fixed_or_mobile') &&
  (phoneCountryCodes.length === 0 || (country_code !== null && phoneCountryCodes.includes(country_code)))

/** The contact with what the first provider that knows who is meant adds to it. */
async function identifyContact(tour: Tour): Promise<Contact> {
  const { contact, signal } = tour
  if (contact.url && contact.firstName && contact.lastName && isEmployed(contact)) return contact
  try {
    for await (const known of answers(tour, ({ person }) => person))
      if (known) return mergeContact(contact, known)
  } catch {
    // It is not what was asked for: who cannot tell may still be passed over.
    signal?.throwIfAborted()
  }
  return contact
}

const isEmployed = ({ domain, companyName }: Contact): boolean => Boolean(domain || companyName)

/** What was given stands; a company is taken as a whole, or a new name would meet the domain of an old employer. */
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
