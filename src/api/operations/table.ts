import { type Fields, isObject } from '../values/objects.js'
import type { Facts, Unit, VendorKind } from './facts.js'

const byPlan = { plan: true } as const
const exempt = { plan: false } as const
const waterfallPrice = { email: 3, personal_email: 3, phone: 30 } as const

/** What a row has unless it says otherwise: most operations read, and are free. */
const usual = { ok: 200, price: {}, errors: 'text', idempotent: false } as const

/**
 * Every operation of the API. Routes, commands, validation, OpenAPI, documents and limits derive from these rows. The
 * schemas are in the file of their area, so that reading a row is cheap (decision 1).
 */
// biome-ignore format: a row is read as a block, not as a column
const table = {
  'accounts.extract': {
    command: 'accounts extract', method: 'POST', path: '/accounts/', ok: 201,
    summary: 'Extract companies from a premium company-search URL',
    quota: 'companies', rate: { plan: true, own: [20, 'minute'] }, idempotent: true, starts: 'import',
    session: { when: 'always', premium: 'yes' },
    columns: ['message.id', 'message.import_name', 'message.created_at'],
  },
  'accounts.search': {
    command: 'accounts search', method: 'POST', path: '/accounts/search', ok: 202,
    summary: 'Import companies that match filters',
    quota: 'companies', rate: byPlan, idempotent: true, starts: 'import', session: { when: 'live' },
    filters: true, columns: ['id', 'total', 'message'],
  },
  'accounts.search_preview': {
    command: 'accounts search', flag: 'preview', method: 'POST', path: '/accounts/search/preview',
    summary: 'Preview a company search: the total and the first 25 companies',
    rate: byPlan, group: 'accounts.search', session: { when: 'live' }, filters: true,
    columns: ['company_name', 'industry', 'network_url'],
  },
  'accounts.enrich': {
    command: 'accounts enrich', method: 'POST', path: '/accounts/single_enrich',
    summary: 'Enrich one company, or every company of a CSV file',
    price: { company: 1 }, needs: 'unit', rate: exempt, idempotent: true,
    batch: { identity: 'company', record: true }, session: { when: 'live' },
    columns: ['name', 'domain', 'industry', 'headcount', 'country'],
  },
  'accounts.bulk_enrich': {
    command: 'accounts enrich', flag: 'bulk', method: 'POST', path: '/accounts/bulk_enrich', observed: true,
    summary: 'Enrich 2 to 100 companies in one request',
    price: { company: 1 }, needs: 'items', rate: exempt, idempotent: true, session: { when: 'live' },
    columns: ['name', 'domain', 'industry', 'headcount', 'country'],
  },
  'accounts.count_profiles': {
    command: 'accounts count-profiles', method: 'POST', path: '/accounts/count_profiles',
    summary: 'Count the profiles of a company that match titles and locations',
    rate: { plan: true, own: [20, 'second'] }, batch: { identity: 'company' }, filters: true,
    columns: ['total'],
  },
  'accounts.headcount': {
    command: 'accounts headcount', method: 'POST', path: '/accounts/headcount',
    summary: 'Headcount of a company by department, with its evolution',
    rate: { plan: true, own: [20, 'second'] }, batch: { identity: 'company' }, session: { when: 'live' },
    columns: [],
  },
  'accounts.hiring': {
    command: 'accounts hiring', method: 'POST', path: '/accounts/company_hiring',
    summary: 'Open job postings of a company',
    price: { job: 1 }, needs: 'unit', rate: { plan: false, own: [5, 'second'] }, errors: 'coded',
    idempotent: true, batch: { identity: 'company', found: 'jobs' }, filters: true,
    columns: ['job_title', 'job_location', 'date_posted'],
  },
  'accounts.stack': {
    command: 'accounts stack', method: 'POST', path: '/accounts/company_stack',
    summary: 'Technologies a company uses',
    price: { company: 3 }, needs: 'unit', rate: exempt, errors: 'coded', idempotent: true,
    batch: { identity: 'company', found: 'technologies_with_confidence' },
    columns: ['name', 'slug', 'confidence'],
  },
  'accounts.technologies': {
    command: 'accounts technologies', method: 'GET', path: '/accounts/technologies',
    summary: 'Find technology slugs by name',
    rate: byPlan, columns: ['slug', 'name', 'category'],
  },
  'leads.extract': {
    command: 'leads extract', method: 'POST', path: '/leads', ok: 202,
    summary: 'Extract people from a search URL',
    quota: 'profiles', rate: { plan: true, own: [1, 'second'] }, errors: 'coded', idempotent: true,
    starts: 'import', session: { when: 'always', premium: 'url' }, columns: ['id', 'status'],
  },
  'leads.advanced_search': {
    command: 'leads advanced-search', method: 'POST', path: '/leads/advanced_search', ok: 202,
    summary: 'Import people that match filters',
    quota: 'profiles', rate: { plan: true, own: [1, 'second'] }, idempotent: true, starts: 'import',
    session: { when: 'live', premium: 'yes' }, filters: true,
    columns: ['message.id', 'message.search_name', 'message.expected_profiles_count'],
  },
  'leads.advanced_search_preview': {
    command: 'leads advanced-search', flag: 'preview', method: 'POST', path: '/leads/advanced_search/preview',
    summary: 'Preview a lead search: the estimated total and the first 25 people',
    rate: { live: { plan: true, own: [1, 'second'] }, database: { plan: true, own: [5, 'second'] } },
    group: 'leads.advanced_search', session: { when: 'live', premium: 'yes' }, filters: true,
    columns: ['full_name', 'current_title', 'current_company'],
  },
  'leads.search': {
    command: 'leads search', method: 'POST', path: '/leads/search', ok: 202,
    summary: 'Find people at a company, or at every company of a CSV file',
    quota: 'profiles', rate: { live: exempt, database: byPlan }, idempotent: true,
    batch: { identity: 'company', found: 'people', fields: ['company_domain', 'company_network_url', 'company_network_id'] },
    starts: 'import', session: { when: 'live' }, filters: true, columns: ['id', 'search_name', 'created_at'],
  },
  'leads.enrich': {
    command: 'leads enrich', method: 'POST', path: '/leads/single_enrich',
    summary: 'Enrich one person, or every person of a CSV file',
    price: { person: 1 }, needs: 'unit', rate: exempt, idempotent: true,
    batch: { identity: 'person', record: true }, session: { when: 'live' },
    columns: ['full_name', 'title', 'company_name', 'most_probable_email'],
  },
  'leads.bulk_enrich': {
    command: 'leads enrich', flag: 'bulk', method: 'POST', path: '/leads/bulk_enrich', observed: true,
    summary: 'Enrich 2 to 100 people in one request',
    price: { person: 1 }, needs: 'items', rate: exempt, idempotent: true, session: { when: 'live' },
    columns: ['full_name', 'title', 'company_name'],
  },
  'contacts.enrich': {
    command: 'contacts waterfall', method: 'POST', path: '/contacts/single_enrich', ok: 201,
    summary: 'Find email addresses and phones of a contact; the result is delivered later',
    price: waterfallPrice, needs: 'types', rate: exempt, idempotent: true, starts: 'waterfall',
    columns: ['enrichment_id', 'status'],
    batch: { identity: 'contact', through: 'sync', bulkRequests: { flag: 'bulk', reader: 'contacts.get', into: 'contacts', least: 2, most: 100 } },
  },
  'contacts.enrich_sync': {
    command: 'contacts waterfall', flag: 'sync', method: 'POST', path: '/contacts/sync_single_enrich',
    summary: 'Find email addresses and phones of a contact and wait for the answer',
    price: waterfallPrice, needs: 'types', rate: exempt, idempotent: true, observedLimit: [50, 'second'],
    syncPath: '/contacts/single_enrich', columns: ['email', 'email_status', 'phone'],
  },
  'contacts.bulk_enrich': {
    command: 'contacts waterfall', flag: 'bulk', method: 'POST', path: '/contacts/bulk_enrich', ok: 202,
    summary: 'Find email addresses and phones of 1 to 100 contacts',
    price: waterfallPrice, needs: 'contacts', rate: exempt, idempotent: true, starts: 'waterfall',
    columns: ['enrichment_id'],
  },
  'contacts.get': {
    command: 'contacts get', method: 'GET', path: '/contacts/{id}',
    summary: 'Status and result of an enrichment',
    rate: exempt, columns: ['status', 'email', 'phone'],
  },
  'contacts.get_enrichment': {
    command: 'contacts get', flag: 'enrichment', method: 'GET', path: '/contacts/{id}/single_enrich',
    summary: 'Status and result of a single enrichment',
    rate: exempt, columns: ['status', 'email', 'phone'],
  },
  'contacts.reverse_lookup': {
    command: 'contacts reverse-lookup', method: 'POST', path: '/contacts/reverse_lookup',
    summary: 'Find the person behind an email address',
    price: { person: 1 }, needs: 'unit', rate: exempt, idempotent: true, batch: { identity: 'email' },
    columns: ['full_name', 'title', 'company_name'],
  },
  'contacts.check_data_availability': {
    command: 'contacts check-data-availability', method: 'POST', path: '/contacts/check_data_availability',
    observed: true,
    summary: 'Whether an email address, a phone and a personal address of contacts can be found',
    rate: byPlan, columns: ['email', 'phone', 'personal_email'],
  },
  'intents.hiring': {
    command: 'intents hiring', method: 'POST', path: '/intents/accounts/hiring', ok: 202,
    summary: 'Import companies that are hiring',
    price: { company: 1 }, needs: 'records', rate: exempt, idempotent: true, starts: 'import', filters: true,
    columns: ['id', 'preview_count', 'message'],
  },
  'intents.stack': {
    command: 'intents stack', method: 'POST', path: '/intents/accounts/stack', ok: 202,
    summary: 'Import companies by the technologies they use',
    price: { company: 3 }, needs: 'records', rate: exempt, idempotent: true, starts: 'import', filters: true,
    columns: ['id', 'total_count', 'message'],
  },
  'intents.stack_preview': {
    command: 'intents stack', flag: 'preview', method: 'POST', path: '/intents/accounts/stack/preview',
    summary: 'Count the companies that use technologies, with a blurred sample',
    rate: byPlan, errors: 'coded', filters: true, columns: ['name', 'industry', 'country'],
  },
  'intents.growth': {
    command: 'intents growth', method: 'POST', path: '/intents/accounts/growth', ok: 202,
    summary: 'Import companies whose headcount grows',
    quota: 'companies', rate: byPlan, idempotent: true, starts: 'import', filters: true,
    columns: ['id', 'total', 'message'],
  },
  'intents.lookalikes': {
    command: 'intents lookalikes', method: 'POST', path: '/intents/accounts/lookalikes', ok: 202,
    summary: 'Import companies that resemble given ones',
    quota: 'companies', rate: byPlan, idempotent: true, starts: 'import', filters: true,
    columns: ['id', 'total', 'message'],
  },
  'intents.post_engagers': {
    command: 'intents post-engagers', method: 'POST', path: '/intents/leads/posts_engagers', ok: 202,
    summary: 'Import the people who reacted to a post or commented on it',
    quota: 'profiles', rate: byPlan, idempotent: true, starts: 'import', session: { when: 'always' },
    filters: true, columns: ['id', 'total', 'message'],
  },
  'messenger.validate': {
    command: 'messenger validate', method: 'POST', path: '/messenger_validations',
    summary: 'Check whether phone numbers are reachable on a messaging app',
    price: { number: 1 }, needs: 'numbers', rate: exempt, idempotent: true,
    batch: { identity: 'number', found: 'results' }, columns: ['phone_number', 'reachable', 'checked_at'],
  },
  'searches.list': {
    command: 'searches list', method: 'GET', path: '/searches',
    summary: 'Saved searches, newest first',
    rate: byPlan, errors: 'coded', columns: ['id', 'name', 'leads_count', 'created_at'],
  },
  'searches.get': {
    command: 'searches get', method: 'GET', path: '/searches/{id}',
    summary: 'One search of people or companies, and what it found',
    rate: exempt, errors: 'coded',
    columns: ['lead.full_name', 'lead.title', 'company.name', 'name', 'domain', 'industry', 'country'],
  },
  'searches.delete': {
    command: 'searches delete', method: 'DELETE', path: '/searches/{id}', observed: true,
    summary: 'Delete a search with its records; one that still runs is cancelled first',
    rate: byPlan, errors: 'coded', columns: ['message'],
  },
  'lists.create': {
    command: 'lists create', method: 'POST', path: '/lists', ok: 201,
    summary: 'Create a list of companies',
    rate: byPlan, idempotent: true, starts: 'import', batch: { identity: 'company', into: 'companies' },
    columns: ['id', 'network_list_id'],
  },
  'lists.list': {
    command: 'lists list', method: 'GET', path: '/lists',
    summary: 'Lists, newest first',
    rate: byPlan, columns: ['id', 'name', 'status', 'created_at'],
  },
  'lists.get': {
    command: 'lists get', method: 'GET', path: '/lists/{id}',
    summary: 'One list, the status of its import, and its companies',
    rate: exempt, columns: ['domain', 'network_url', 'country_code', 'account_id'],
  },
  'lists.rename': {
    command: 'lists rename', method: 'PUT', path: '/lists/{id}', observed: true,
    summary: 'Rename a list',
    rate: byPlan, columns: ['id', 'name', 'status', 'created_at'],
  },
  'personas.list': {
    command: 'personas list', method: 'GET', path: '/personas',
    summary: 'Personas, newest first',
    rate: byPlan, columns: ['id', 'name', 'created_at'],
  },
  'personas.get': {
    command: 'personas get', method: 'GET', path: '/personas/{uuid}',
    summary: 'One persona',
    rate: byPlan, columns: ['id', 'name', 'job_titles'],
  },
  'personas.create': {
    command: 'personas create', method: 'POST', path: '/personas', ok: 201,
    summary: 'Create a persona',
    rate: byPlan, idempotent: true, columns: ['id', 'name', 'job_titles'],
  },
  'personas.delete': {
    command: 'personas delete', method: 'DELETE', path: '/personas/{uuid}',
    summary: 'Delete a persona for good',
    rate: byPlan, columns: ['message'],
  },
  'titles.suggest': {
    command: 'titles suggest', method: 'POST', path: '/job_title_suggestions',
    summary: 'Suggest job titles to include and keywords to exclude',
    rate: byPlan, columns: ['jobTitle', 'selectionType'],
  },
  'locations.find': {
    command: 'locations find', method: 'POST', path: '/locations',
    summary: 'Find location ids by name',
    rate: byPlan, session: { when: 'source' }, columns: ['id', 'name'],
  },
  'credits.show': {
    command: 'credits', method: 'GET', path: '/credits',
    summary: 'Credit balance and remaining quotas',
    rate: exempt, columns: [],
  },
  'credits.consumption': {
    command: 'credits consumption', method: 'GET', path: '/credits_consumption',
    summary: 'Credits consumed between two days, both included (UTC)',
    rate: byPlan, columns: ['start_date', 'end_date', 'credits_consumed', 'credits'],
  },
  'account.show': {
    command: 'account', method: 'GET', path: '/account',
    summary: 'The account behind the key',
    rate: exempt, columns: ['account.email', 'workspace.name', 'workspace.plan'],
  },
} as const satisfies Record<string, Omit<Facts, keyof typeof usual> & Partial<Facts>>

/** The id of an operation, such as `accounts.enrich`. */
export type OperationId = keyof typeof table

export interface Operation extends Facts {
  readonly id: OperationId
  /** Its plan counter. */
  readonly group: string
}

const rows = new Map<string, Operation>(
  Object.entries(table).map(([id, facts]) => [id, { group: id, ...usual, ...facts, id: id as OperationId }]),
)

/** All operations, in the order of the table. */
export const operations = (): Operation[] => [...rows.values()]

/** Returns the operation of an id; throws a plain `Error` when there is none, since ids come from the program. */
export function operation(id: OperationId): Operation {
  const row = rows.get(id)
  if (!row) throw new Error(`no operation ${id}`)
  return row
}

/** Returns an operation with what a batch knows of its rows, where that stands at the one whose command it answers for. */
export function rowOperation(row: Operation): Operation {
  if (row.batch || row.flag === undefined) return row
  const { batch } =
    operations().find(({ command, batch }) => command === row.command && batch?.through === row.flag) ?? row
  return batch ? { ...row, batch } : row
}

const itemOperations = {
  'accounts.bulk_enrich': 'accounts.enrich',
  'leads.bulk_enrich': 'leads.enrich',
} as const

/** Returns the operation that answers each item of a request for several at once; `undefined` of any other. */
export const itemOperation = (id: OperationId): OperationId | undefined =>
  itemOperations[id as keyof typeof itemOperations]

/** Returns the operation that answers at once, where the one of a command only accepts work. */
export function immediateOperation(operation: Operation): Operation {
  const { command, batch } = operation
  if (batch?.through === undefined) return operation
  const found = operations().find((row) => row.command === command && row.flag === batch.through)
  return found ? { ...found, batch } : operation
}

/** Returns the command of an operation with its flag, as tables show it; the text itself where it is no id of one. */
export function commandOf(id: string): string {
  const { command, flag } = rows.get(id) ?? { command: id }
  return flag === undefined ? command : `${command} --${flag}`
}

const contactKinds = ['email', 'personal_email', 'phone'] as const

const vendorKinds: Partial<Readonly<Record<OperationId, readonly VendorKind[]>>> = {
  'contacts.enrich': contactKinds,
  'contacts.enrich_sync': contactKinds,
  'contacts.bulk_enrich': contactKinds,
  'leads.enrich': ['person'],
  'leads.bulk_enrich': ['person'],
  'accounts.enrich': ['company'],
  'accounts.bulk_enrich': ['company'],
}

/** Returns what the engine asks data vendors for where its records lack it: nothing for most operations. */
export const vendorKindsOf = ({ id }: Pick<Operation, 'id'>): readonly VendorKind[] => vendorKinds[id] ?? []

/** Returns those of them that a request asks for. */
export function vendorKindsIn(
  row: Pick<Operation, 'id'>,
  { enrichment_type: types }: Readonly<Record<string, unknown>>,
): readonly VendorKind[] {
  const kinds = vendorKindsOf(row)
  return types === undefined ? kinds : kinds.filter((kind) => [types].flat().includes(kind))
}

/** Returns the area of an operation: the part of its id before the dot. */
export const areaOf = (id: OperationId): string => id.slice(0, id.indexOf('.'))

/** Units found, as a server would charge them. */
export type Units = Partial<Readonly<Record<Unit, number>>>

/** Returns the charged units of a success, read from its body. Work that continues after the reply has found nothing yet. */
export function unitsOf(operation: Operation, body: unknown): Units {
  if (operation.starts || !isObject(body) || resolvesNothing(operation, body)) return {}
  const count = counts[operation.id as keyof typeof counts]
  return count?.(body) ?? {}
}

/** Returns the units of one waterfall; an invalid address is free, and numbers are charged once. */
const contactUnits = (result: Fields): Units => ({
  email: Number(isFilled(result.email) && result.email_status !== 'invalid'),
  personal_email: Number(isFilled(result.personal_email) && result.personal_email_status !== 'invalid'),
  phone: Number(isFilled(result.phone)),
})

/** Returns the credits of a success: what the server says, otherwise price times units. */
export function creditsCharged(operation: Operation, body: unknown): number {
  if (Object.keys(operation.price).length === 0 || operation.starts || !isObject(body)) return 0
  if (Number.isSafeInteger(body.credits_used)) return Math.max(0, body.credits_used as number)
  const units = Object.entries(unitsOf(operation, body)) as [Unit, number][]
  return units.reduce((sum, [unit, found]) => sum + (operation.price[unit] ?? 0) * found, 0)
}

const counts = {
  'accounts.enrich': () => ({ company: 1 }),
  'accounts.bulk_enrich': ({ results }: Fields) => ({ company: countRecords(results) }),
  'accounts.hiring': ({ jobs }: Fields) => ({ job: lengthOf(jobs) }),
  'accounts.stack': ({ technologies, technologies_with_confidence: sure }: Fields) => ({
    company: Number(lengthOf(technologies) + lengthOf(sure) > 0),
  }),
  'leads.enrich': () => ({ person: 1 }),
  'leads.bulk_enrich': ({ results }: Fields) => ({ person: countRecords(results) }),
  'contacts.reverse_lookup': () => ({ person: 1 }),
  'contacts.enrich_sync': contactUnits,
  'messenger.validate': ({ results }: Fields) => ({
    number: Array.isArray(results)
      ? results.filter((one) => isObject(one) && one.reachable === true).length
      : 0,
  }),
} as const

/** Returns how many items of a bulk request were resolved. */
const countRecords = (results: unknown): number =>
  Array.isArray(results) ? results.filter((one) => isObject(one) && !isBlank(one, identifying)).length : 0

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

const isFilled = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

const identifying = ['id', 'name', 'full_name', 'domain', 'network_id', 'network_url', 'network_profile_url']
const reachable = ['email', 'personal_email', 'phone']
/** Fields that a result has, whether something was found or not. */
export const resultFields: readonly string[] = [...identifying, ...reachable]

/** Returns whether a success found nothing: all identifying fields (of a waterfall: addresses, numbers) are null or missing. */
export function resolvesNothing(operation: Operation, body: unknown): boolean {
  if (operation.needs === 'items')
    return isObject(body) && Array.isArray(body.results) && countRecords(body.results) === 0
  if (operation.id === 'contacts.enrich_sync') return isBlank(body, reachable)
  if (operation.needs !== 'unit' || operation.batch?.found !== undefined) return false
  return isBlank(body, identifying)
}

/** Whether what an operation looks up is a person. */
const isAboutPeople = ({ id }: Operation): boolean =>
  areaOf(id) === 'contacts' || id === 'leads.enrich' || id === 'leads.bulk_enrich'

/** Returns the error that says of a lookup that it found nothing. */
export const notFoundCode = (operation: Operation): 'no_person_found' | 'no_company_found' =>
  isAboutPeople(operation) ? 'no_person_found' : 'no_company_found'

/** Said of an answer that was left out; in the result of a contact, which costs what it cost, it is the message. */
export const hiddenNote = 'The answer is about somebody who is suppressed'

/** Whether the result of a contact was left out. */
export const isHiddenIn = (body: unknown): boolean => isObject(body) && body.message === hiddenNote

/** Returns the data vendors whose answer was lost, where nobody found anything. */
export const lostIn = (body: unknown): readonly string[] =>
  isObject(body) && Array.isArray(body.answers_lost) ? body.answers_lost.map(String) : []

/** A data vendor that could not be asked, and why. */
export interface SkippedVendor {
  readonly provider: string
  readonly reason: string
}

export const notAskedIn = (body: unknown): readonly SkippedVendor[] =>
  isObject(body) && Array.isArray(body.not_asked) ? body.not_asked.filter(isSkippedVendor) : []

const isSkippedVendor = (one: unknown): one is SkippedVendor =>
  isObject(one) && typeof one.provider === 'string' && typeof one.reason === 'string'

/** How the reason of a vendor begins that needs what is not known of somebody. */
export const needsWords = 'it needs '

/** Names vendors that could not be asked, and why. */
export const notAskedText = (vendors: readonly SkippedVendor[]): string =>
  vendors.map(({ provider, reason }) => `${provider} (${reason.replaceAll('_', ' ')})`).join(', ')

/** Why a data vendor cannot be asked now, and may be later. */
export const temporaryReasons = [
  'budget',
  'out_of_credits',
  'invalid_key',
  'no_key',
  'rate_limited',
  'failing',
  'no_webhook',
] as const

const isTemporary = new RegExp(`([\\w-]+) \\((?:${temporaryReasons.join('|').replaceAll('_', ' ')})\\)`, 'g')

/** Returns the vendors that may be asked later, of what names those that were not asked. */
export const askedLaterIn = (text: string | null): readonly string[] =>
  [...(text ?? '').matchAll(isTemporary)].map(([, name = '']) => name)

/** Returns whether the text of a 400 says that a lookup found nothing. */
export const saysNothingFound = (text: string): boolean => /\bno(t| \w+) found\b/i.test(text)

const isBlank = (body: unknown, names: readonly string[]): boolean =>
  names.every((name) => {
    const value = (body as Readonly<Record<string, unknown>> | null)?.[name] ?? null
    return value === null || value === '' || (Array.isArray(value) && value.length === 0)
  })

/** Other spellings of a field, and its internal spelling. */
export type Aliases = Readonly<Record<string, string>>

const person = { network_profile_url: 'network_url', linkedin_url: 'network_url' }
const contact = { ...person, first_name: 'firstname', last_name: 'lastname' }
const company = { locations: 'included_locations', industries: 'included_industries' }

const aliases: Partial<Record<OperationId, Aliases>> = {
  'leads.enrich': person,
  'leads.bulk_enrich': person,
  'contacts.enrich': contact,
  'contacts.enrich_sync': contact,
  'contacts.bulk_enrich': contact,
  'contacts.check_data_availability': contact,
  'intents.growth': company,
  'intents.lookalikes': { ...company, account_url: 'company_network_url' },
  'locations.find': { query: 'name' },
}

const wrappers: Partial<Record<OperationId, string>> = { 'intents.growth': 'account' }

/** Returns the field that may hold the fields of a request; `undefined` where there is none. */
export const wrapperOf = (id: OperationId): string | undefined => wrappers[id]

const flags: Readonly<Record<string, string>> = { firstname: 'first-name', lastname: 'last-name' }

/** Returns the option of a field, without dashes. */
export const flagOf = (field: string): string => flags[field] ?? field.replaceAll('_', '-')

/** Returns the other spellings that an operation accepts; those of a bulk request apply to each of its items. */
export const aliasesOf = (id: OperationId): Aliases => aliases[id] ?? {}
