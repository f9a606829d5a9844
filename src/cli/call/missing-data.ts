import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { isMetered } from '../../api/operations/facts.js'
import {
  areaOf,
  flagOf,
  type Operation,
  type OperationId,
  operation,
  vendorKindsOf,
} from '../../api/operations/table.js'
import { isGiven } from '../../api/schemas/fields.js'
import type { RecordKind } from '../../catalogue/kinds/kind.js'
import type { StoredValue } from '../../catalogue/search/missing.js'
import type { Context } from '../context/context.js'
import { describeCatalogue, placeOf, readOrigins } from '../target/local-target.js'

/** What a record may lack. */
type Value = Exclude<StoredValue, RecordKind>

/** What a filter chooses by, among people or among companies. */
const ofPeople: Readonly<Record<string, Value>> = {
  job_titles: 'title',
  title_to_include: 'title',
  past_titles: 'past_positions',
  functions: 'function',
  seniority_levels: 'seniority',
  included_locations: 'place',
  years_of_experience: 'years_of_experience',
  years_at_current_company: 'years_in_company',
  years_in_current_position: 'years_in_position',
  company_size: 'company_size',
  company_type: 'company_type',
  included_industries: 'industry',
  company_headquarters: 'company_place',
}

const ofCompanies: Readonly<Record<string, Value>> = {
  included_locations: 'company_place',
  countries: 'company_place',
  included_industries: 'industry',
  company_size: 'company_size',
  min_revenue: 'revenue',
  max_revenue: 'revenue',
}

/** Kinds of records that operations need, where these are not only those of their area. */
const kindsOfOperations: Partial<Readonly<Record<Operation['id'], readonly RecordKind[]>>> = {
  'accounts.count_profiles': ['companies', 'people'],
  'accounts.hiring': ['companies', 'jobs'],
  'accounts.technologies': [],
  'intents.hiring': ['companies', 'jobs'],
  'intents.post_engagers': ['posts'],
  'leads.search': ['companies', 'people'],
}

const kindsOfAreas: Readonly<Record<string, readonly RecordKind[]>> = {
  accounts: ['companies'],
  intents: ['companies'],
  leads: ['people'],
  contacts: ['people'],
}

/** Returns the kinds of records without which operations find nothing, and of which this machine has none. */
async function missingKinds(
  context: Pick<Context, 'catalogue'>,
  rows: readonly Operation[],
): Promise<readonly RecordKind[]> {
  const needed = rows.flatMap(({ id }) => kindsOfOperations[id] ?? kindsOfAreas[areaOf(id)] ?? [])
  return needed.length === 0 ? [] : (await context.catalogue()).missing([...new Set(needed)])
}

/** What the engine answers from the records of its catalogue, beside what is charged, counted, filtered or asked for a file. */
const readsRecords: readonly OperationId[] = ['accounts.technologies', 'contacts.check_data_availability']

function answersFromRecords({ id }: Operation): boolean {
  // On a plan for own data nothing is metered.
  const row = operation(id)
  return isMetered(row) || row.filters === true || row.batch !== undefined || readsRecords.includes(id)
}

/**
 * Throws a Refusal (exit 2) where one of the operations would be answered from this machine's catalogue, and that has no
 * records of a kind that it needs: nothing found would read as an answer. Data vendors of the workspace answer, too.
 */
export async function requireRecords(context: Context, rows: readonly Operation[]): Promise<void> {
  if (!context.isLocal()) return
  const asking: Operation[] = []
  for (const row of rows.filter(answersFromRecords))
    if (!(await context.hasVendors(vendorKindsOf(row)))) asking.push(row)
  if (asking.length === 0) return
  const place = placeOf(context.home)
  const { kind } = describeCatalogue(context.home, await readOrigins(context), context.clock.now())
  if (kind === 'empty') throw new Refusal('usage.empty_catalogue', { place })
  const [missing] = await missingKinds(context, asking)
  if (missing !== undefined) throw new Refusal('usage.no_records', { kind: missing, place })
}

/** Returns the real time before which answers are out of date: that of the latest import into this machine's catalogue; 0 for a server. */
export const answersFrom = async (context: Context): Promise<number> =>
  context.isLocal() ? ((await readOrigins(context))?.changedAt ?? 0) : 0

/** What an operation answers from, whatever is asked. */
const ofOperations: Partial<Readonly<Record<Operation['id'], Value>>> = {
  'accounts.stack': 'technologies',
  'intents.stack': 'technologies',
  'intents.stack_preview': 'technologies',
  'intents.growth': 'headcount_history',
  'messenger.validate': 'phone',
}

/** Who lacks a value, what it is, and how it is loaded. */
const sentences: Readonly<Record<Value, readonly [who: string, what: string, load: string]>> = {
  title: ['people', 'a title', 'a column title'],
  seniority: ['people', 'a seniority', 'a column title or seniority'],
  function: ['people', 'a function', 'a column title or function'],
  past_positions: ['people', 'past positions', 'past_positions, in NDJSON'],
  place: ['people', 'a place', 'a column country, city or location'],
  first_name: ['people', 'a first name', 'a column first_name'],
  last_name: ['people', 'a last name', 'a column last_name'],
  years_of_experience: ['people', 'years of experience', 'a column years_of_experience'],
  years_in_company: ['people', 'years at the company', 'a column years_in_company'],
  years_in_position: ['people', 'a start of the position', 'a column started_at'],
  email: ['people', 'an email address', 'a column email'],
  personal_email: ['people', 'a personal email address', 'a column personal_email'],
  phone: ['people', 'a phone number', 'a column phone'],
  company_place: ['companies', 'a place', 'a column country, city or headquarters'],
  company_size: ['companies', 'a size', 'a column headcount or employee_range'],
  company_type: ['companies', 'a type', 'a column company_type'],
  industry: ['companies', 'an industry', 'a column industry'],
  revenue: ['companies', 'a revenue', 'a column revenue'],
  technologies: ['companies', 'technologies', 'a column technologies'],
  headcount_history: ['companies', 'a headcount history', 'headcount_history, in NDJSON'],
}

export type AskedData = { readonly operation: Operation; readonly input: Input }

/** Returns which columns the catalogue of this machine lacks for what was asked; `undefined` where it lacks none. */
export async function describeMissingData(
  context: Pick<Context, 'isLocal' | 'catalogue'>,
  { operation, input }: AskedData,
): Promise<string | undefined> {
  if (!context.isLocal()) return undefined
  const flags = new Map<Value, string>()
  const own = ofOperations[operation.id]
  if (own) flags.set(own, '')
  const isOfPeople = areaOf(operation.id) === 'leads' || operation.id === 'accounts.count_profiles'
  for (const [field, value] of Object.entries(isOfPeople ? ofPeople : ofCompanies))
    if (isGiven(input[field])) flags.set(value, `--${flagOf(field)}`)
  for (const type of [input.enrichment_type ?? []].flat())
    if (type === 'email' || type === 'personal_email' || type === 'phone') flags.set(type, '')
  const missing = await (await context.catalogue()).missing([...flags.keys()])
  return missing.length === 0
    ? undefined
    : missing.map((value) => describe(value, flags.get(value) ?? '')).join(' ')
}

function describe(value: Value, flag: string): string {
  const [who, what, load] = sentences[value]
  const needed = flag === '' ? '' : `, which ${flag} needs`
  return `None of your ${who} has ${what}${needed}: prospect data import ${who} FILE with ${load}.`
}
