import type { OutputOf } from '../../api/areas/shapes.js'
import { ApiError } from '../../api/calls/errors.js'
import type { VendorKind } from '../../api/operations/facts.js'
import { notAskedText, type Operation, type SkippedVendor } from '../../api/operations/table.js'
import type {
  Asking,
  Contact,
  ContactType,
  FoundEmail,
  PhoneDetail,
  Provider,
  Source,
  Vendors,
} from '../../api/ports/ports.js'
import type { Awaitable } from '../../api/values/objects.js'
import { costOf, type Used } from '../credits/cost.js'
import type { Enrichment, WaterfallAsk } from '../tables/jobs.js'

/** A contact's result, as it is stored and delivered. */
export type ContactResult = Omit<OutputOf<'contacts.enrich_sync'>, 'phones' | 'phone_status'>

/** What a waterfall finds: a contact's result without the fields that the enrichment adds. */
type Reached = Omit<ContactResult, 'enrichment_id' | 'status' | 'credits_used' | 'custom'>

/** Throws 422 when personal addresses are requested for a member who has not consented. */
export function requireConsent(types: readonly ContactType[], consentGiven: boolean): void {
  if (types.includes('personal_email') && !consentGiven) throw new ApiError('consent_required')
}

/** The data vendors of a workspace, which are asked before anybody guesses. */
interface Outside {
  readonly vendors: Vendors
  readonly asking: Asking
  readonly source: Pick<Source, 'company'>
}

/** Returns the vendors that a waterfall asks; `undefined` where the workspace has none. */
export const outsideOf = async (vendors: Vendors | undefined, asking: Asking, source: Outside['source']) =>
  (await vendors?.has(asking.workspaceId)) && vendors ? { vendors, asking, source } : undefined

/**
 * Asks the providers in order, type by type, until one has an acceptable answer, and counts what is to be paid. Throws
 * when one of them fails: they read the catalogue, and one that could not be read has not said that it knows nothing.
 * What a vendor finds costs nothing here.
 */
export async function runWaterfall(
  providers: readonly Provider[],
  contact: Contact,
  { types, ...only }: WaterfallAsk,
  outside?: Outside,
): Promise<{ readonly found: Reached; readonly used: Used }> {
  const notes = { outside, ...newNotes() }
  const who = await identifyContact({ providers, contact, ...notes })
  const tour: Tour = { providers, contact: who, ...notes }
  const asked = (type: ContactType) => types.includes(type)
  const email = asked('email') ? await firstEmail(tour, 'email', ({ email }) => email) : undefined
  const personal = asked('personal_email')
    ? await firstEmail(tour, 'personal_email', ({ personalEmail }) => personalEmail)
    : undefined
  const phones = asked('phone') ? await firstPhones(tour, only) : undefined
  const numbers = phones?.value ?? []
  const nothing = !email && !personal && numbers.length === 0
  const sources = outside !== undefined
  const found: Reached = {
    first_name: who.firstName ?? null,
    last_name: who.lastName ?? null,
    network_profile_url: who.url ?? null,
    ...(asked('email') && { email: email?.value.email ?? null, email_status: email?.value.status ?? null }),
    // A guess is called one, whoever else may be asked.
    ...(asked('email') && (sources || email?.isGuess) && { email_source: email?.source ?? null }),
    ...(asked('personal_email') && {
      personal_email: personal?.value.email ?? null,
      personal_email_status: personal?.value.status ?? null,
      ...(sources && { personal_email_source: personal?.source ?? null }),
    }),
    ...(asked('phone') && { phone: numbers.map(({ number }) => number), phone_details: [...numbers] }),
    ...(asked('phone') && sources && { phone_source: phones?.source ?? null }),
    ...(nothing && { message: messageOf(tour) }),
    ...(nothing && tour.lost.size > 0 && { answers_lost: [...tour.lost] }),
    ...(tour.skipped.size > 0 && { not_asked: notAsked(tour) }),
  }
  const isPaid = (one: Sourced<FoundEmail> | undefined) => one?.isOurs === true && isAcceptable(one.value)
  const used: Used = {
    ...(isPaid(email) && { email: 1 }),
    ...(isPaid(personal) && { personal_email: 1 }),
    ...(phones?.isOurs && numbers.length > 0 && { phone: 1 }),
  }
  return { found, used }
}

function messageOf(tour: Tour): string {
  const { lost, skipped } = tour
  return [
    'No data found',
    ...(lost.size > 0 ? [`the answer of ${[...lost].join(', ')} was lost and may be charged`] : []),
    ...(skipped.size > 0 ? [`not asked: ${notAskedText(notAsked(tour))}`] : []),
  ].join('; ')
}

/** Returns the vendors that could not be asked, and why. */
export const notAsked = ({ skipped }: VendorNotes): SkippedVendor[] =>
  [...skipped].map(([provider, reason]) => ({ provider, reason }))

export interface VendorNotes {
  /** Vendors whose answer was lost. */
  readonly lost: Set<string>
  /** Vendors that could not be asked, and why. */
  readonly skipped: Map<string, string>
}

export const newNotes = (): VendorNotes => ({ lost: new Set(), skipped: new Map() })

/** The providers to ask, the contact to ask about, and what happened on the way. */
interface Tour extends VendorNotes {
  readonly providers: readonly Provider[]
  readonly outside: Outside | undefined
  readonly contact: Contact
}

/** An answer, who gave it, whether it is one of ours, which is paid for, and whether it is a guess. */
interface Sourced<T> {
  readonly value: T
  readonly source: string
  readonly isOurs: boolean
  readonly isGuess: boolean
}

/** Returns the method of a provider that answers the question; `undefined` when it has none. */
type Question<T> = (provider: Provider) => ((contact: Contact) => Awaitable<T>) | undefined

/** What vendors are asked for, and how their fields are read. */
interface VendorQuestion<T> {
  readonly kind: VendorKind
  read(fields: Readonly<Record<string, unknown>>): T | undefined
}

/** Yields the answers; the next provider is asked when the next answer is wanted. Vendors come before those that guess. */
async function* askProviders<T>(tour: Tour, question: Question<T>, ofVendors?: VendorQuestion<T>) {
  const { providers, contact } = tour
  const askOne = async function* (provider: Provider): AsyncGenerator<Sourced<T>> {
    const ask = question(provider)
    if (!ask) return
    const value = await ask.call(provider, contact)
    yield { value, source: provider.name, isOurs: true, isGuess: provider.isGuess === true }
  }
  for (const provider of providers) if (!provider.isGuess) yield* askOne(provider)
  if (ofVendors) yield* askVendors(tour, ofVendors)
  for (const provider of providers) if (provider.isGuess) yield* askOne(provider)
}

async function* askVendors<T>({ outside, contact, lost, skipped }: Tour, { kind, read }: VendorQuestion<T>) {
  if (!outside) return
  const { vendors, asking, source } = outside
  const company = () => source.company({ domain: contact.domain, name: contact.companyName })
  for await (const reply of vendors.ask(kind, contact, asking, company)) {
    if (reply.is === 'unknown') lost.add(reply.name)
    if (reply.is === 'skipped') skipped.set(reply.name, reply.why ?? '')
    const value = reply.fields && read(reply.fields)
    if (value !== undefined) yield { value, source: reply.name, isOurs: false, isGuess: false }
  }
}

const isAcceptable = (found: FoundEmail | undefined) => found !== undefined && found.status !== 'invalid'

/** Returns the first address that can be written to, otherwise one that is known to be wrong. */
async function firstEmail(
  tour: Tour,
  kind: 'email' | 'personal_email',
  question: Question<FoundEmail | undefined>,
): Promise<Sourced<FoundEmail> | undefined> {
  let best: Sourced<FoundEmail> | undefined
  const read = (fields: Readonly<Record<string, unknown>>) =>
    ({ email: fields[kind], status: fields[`${kind}_status`] }) as FoundEmail
  for await (const { value: found, ...from } of askProviders(tour, question, { kind, read })) {
    if (!found) continue
    const value = await verified(tour, found, from)
    const isWanted = tour.outside?.asking.accept === 'valid' ? value.status === 'valid' : isAcceptable(value)
    if (isWanted) return { value, ...from }
    if (!best || (!isAcceptable(best.value) && isAcceptable(value))) best = { value, ...from }
  }
  return best
}

/** Returns a guess with the status that a vendor says it has; vendors verify what they find themselves. */
async function verified(
  { outside, contact }: Tour,
  found: FoundEmail,
  { isOurs }: Pick<Sourced<FoundEmail>, 'isOurs'>,
): Promise<FoundEmail> {
  if (!outside || !isOurs || found.status !== 'risky') return found
  const { vendors, asking } = outside
  for await (const { fields } of vendors.ask('verify', { ...contact, email: found.email }, asking))
    if (fields) return { ...found, status: fields.email_status as FoundEmail['status'] }
  return found
}

/** Returns the wanted numbers of the first provider that has some. */
async function firstPhones(tour: Tour, only: Omit<WaterfallAsk, 'types'>) {
  const read = ({ phone }: Readonly<Record<string, unknown>>) => phone as readonly PhoneDetail[]
  for await (const { value, ...from } of askProviders(tour, ({ phones }) => phones, {
    kind: 'phone',
    read,
  })) {
    const wanted = new Map(value.filter((phone) => isWanted(phone, only)).map((one) => [one.number, one]))
    if (wanted.size > 0) return { value: [...wanted.values()], ...from }
  }
  return undefined
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
  for await (const known of askProviders(tour, ({ person }) => person))
    if (known.value) return mergeContact(contact, known.value)
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
    ...(contact.columns && { columns: contact.columns }),
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
    first_name,
    last_name,
    network_profile_url,
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
