import type { OperationId } from '../../api/operations/table.js'
import * as account from './account.js'
import * as accountImports from './account-imports.js'
import * as accounts from './accounts.js'
import * as contacts from './contacts.js'
import * as credits from './credits.js'
import type { Handler } from './handler.js'
import * as intents from './intents.js'
import * as leadImports from './lead-imports.js'
import * as leads from './leads.js'
import * as lists from './lists.js'
import * as locations from './locations.js'
import * as messenger from './messenger.js'
import * as personas from './personas.js'
import * as searches from './searches.js'
import * as titles from './titles.js'

type Handlers = { readonly [Id in OperationId]: Handler<Id> }

/** The handler of every operation. A missing one does not compile. */
export const handlers: Handlers = {
  'accounts.extract': accountImports.extract,
  'accounts.search': accountImports.search,
  'accounts.search_preview': accountImports.searchPreview,
  'accounts.enrich': accounts.enrich,
  'accounts.stack': accounts.stack,
  'accounts.headcount': accounts.headcount,
  'accounts.count_profiles': accounts.countProfiles,
  'accounts.hiring': accounts.hiring,
  'accounts.technologies': accounts.technologies,
  'personas.list': personas.list,
  'personas.get': personas.get,
  'personas.create': personas.create,
  'personas.delete': personas.remove,
  'titles.suggest': titles.suggest,
  'leads.extract': leadImports.extract,
  'leads.advanced_search': leadImports.advancedSearch,
  'leads.advanced_search_preview': leadImports.advancedPreview,
  'leads.search': leadImports.search,
  'leads.enrich': leads.enrich,
  'contacts.enrich': contacts.enrich,
  'contacts.enrich_sync': contacts.enrichSync,
  'contacts.bulk_enrich': contacts.bulkEnrich,
  'contacts.get': contacts.get,
  'contacts.get_enrichment': contacts.get,
  'contacts.reverse_lookup': contacts.reverseLookup,
  'intents.hiring': intents.hiring,
  'intents.stack': intents.stack,
  'intents.stack_preview': intents.stackPreview,
  'intents.growth': intents.growth,
  'intents.lookalikes': intents.lookalikes,
  'intents.post_engagers': intents.postEngagers,
  'searches.list': searches.list,
  'searches.get': searches.get,
  'lists.create': lists.create,
  'lists.list': lists.list,
  'lists.get': lists.get,
  'locations.find': locations.find,
  'messenger.validate': messenger.validate,
  'credits.show': credits.show,
  'credits.consumption': credits.consumption,
  'account.show': account.show,
}

/** Returns the handler of an operation. */
export const handlerOf = (id: OperationId): Handler<OperationId> =>
  handlers[id] as Handler<never> as Handler<OperationId>
