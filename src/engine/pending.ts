import type { OperationId } from '../api/table.js'

/** Operations of the table that have no handler yet; they answer 501. */
export const pending = [
  'accounts.extract',
  'accounts.search',
  'accounts.search_preview',
  'leads.extract',
  'leads.advanced_search',
  'leads.advanced_search_preview',
  'leads.search',
  'contacts.enrich',
  'contacts.enrich_sync',
  'contacts.bulk_enrich',
  'contacts.get',
  'contacts.get_enrichment',
  'intents.hiring',
  'intents.stack',
  'intents.stack_preview',
  'intents.growth',
  'intents.lookalikes',
  'intents.post_engagers',
  'searches.list',
  'searches.get',
  'lists.create',
  'lists.list',
  'lists.get',
  'locations.find',
] as const satisfies readonly OperationId[]

/** An operation without a handler. */
export type PendingId = (typeof pending)[number]
