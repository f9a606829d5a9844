import type { Input } from '../../api/calls/caller.js'
import { areaOf, flagOf, type Operation } from '../../api/operations/table.js'
import { isGiven } from '../../api/schemas/fields.js'
import type { RecordKind } from '../../catalogue/kinds/kind.js'
import type { StoredValue } from '../../catalogue/search/missing.js'
import type { Context } from '../context/context.js'

/** What a record may lack. */
type MissingValue = Exclude<StoredValue, RecordKind>

/** What a filter chooses by, among people or among companies. */
const ofPeople: Readonly<Record<string, MissingValue>> = {
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

const ofCompanies: Readonly<Record<string, MissingValue>> = {
  included_locations: 'company_place',
  countries: 'company_place',
  included_industries: 'industry',
  company_size: 'company_size',
  min_revenue: 'revenue',
  max_revenue: 'revenue',
}

/** What an operation answers from, whatever is asked. */
const ofOperations: Partial<Readonly<Record<Operation['id'], MissingValue>>> = {
  'accounts.stack': 'technologies',
  'intents.stack': 'technologies',
  'intents.stack_preview': 'technologies',
  'intents.growth': 'headcount_history',
  'messenger.validate': 'phone',
}

/** Who lacks a value, what it is, and how it is loaded. */
const sentences: Readonly<Record<MissingValue, readonly [who: string, what: string, load: string]>> = {
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
  const flags = new Map<MissingValue, string>()
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

function describe(value: MissingValue, flag: string): string {
  const [who, what, load] = sentences[value]
  const needed = flag === '' ? '' : `, which ${flag} needs`
  return `None of your ${who} has ${what}${needed}: prospect data import ${who} FILE with ${load}.`
}
