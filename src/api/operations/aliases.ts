import type { OperationId } from './table.js'

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

/** Options that are not named like their field. */
const flags: Readonly<Record<string, string>> = { firstname: 'first-name', lastname: 'last-name' }

/** Returns the option of a field, without dashes. */
export const flagOf = (field: string): string => flags[field] ?? field.replaceAll('_', '-')

/** Returns the other spellings that an operation accepts; those of a bulk request apply to each of its items. */
export const aliasesOf = (id: OperationId): Aliases => aliases[id] ?? {}
