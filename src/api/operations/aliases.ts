import { isObject } from '../values/objects.js'
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

/** The arrays of bulk requests; the other spellings are those of their items. */
const bulkItems: Partial<Record<OperationId, string>> = {
  'leads.bulk_enrich': 'leads',
  'contacts.bulk_enrich': 'contacts',
  'contacts.check_data_availability': 'contacts',
}

/** Returns the other spellings that an operation accepts; those of a bulk request apply to each of its items. */
export const aliasesOf = (id: OperationId): Aliases => aliases[id] ?? {}

/** Returns the fields with every alias in its internal spelling, which wins when both are given. */
export function unalias(id: OperationId, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = aliases[id]
  if (!names) return input
  const field = bulkItems[id]
  const items = field === undefined ? undefined : input[field]
  if (field === undefined || !Array.isArray(items)) return renameFields(input, names)
  return { ...input, [field]: items.map((one) => (isObject(one) ? renameFields(one, names) : one)) }
}

function renameFields(fields: Readonly<Record<string, unknown>>, names: Aliases): Record<string, unknown> {
  const found = Object.entries(names).filter(([alias]) => Object.hasOwn(fields, alias))
  const own = Object.fromEntries(found.map(([alias, name]) => [name, fields[alias]]))
  return found.length === 0 ? fields : { ...own, ...fields }
}
