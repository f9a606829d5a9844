import type { OperationId } from '../api/table.js'
import type { Handler } from './handler.js'
import * as account from './handlers/account.js'
import * as accounts from './handlers/accounts.js'
import * as contacts from './handlers/contacts.js'
import * as credits from './handlers/credits.js'
import * as leads from './handlers/leads.js'
import * as messenger from './handlers/messenger.js'
import * as personas from './handlers/personas.js'
import * as titles from './handlers/titles.js'
import type { PendingId } from './pending.js'

type Handlers = { readonly [Id in Exclude<OperationId, PendingId>]: Handler<Id> }

/** Who does the work of which operation. An operation that is neither here nor pending does not compile. */
export const handlers: Handlers = {
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
  'leads.enrich': leads.enrich,
  'contacts.reverse_lookup': contacts.reverseLookup,
  'messenger.validate': messenger.validate,
  'credits.show': credits.show,
  'credits.consumption': credits.consumption,
  'account.show': account.show,
}

/** The handler of an operation; undefined while it is pending. */
export const handlerOf = (id: OperationId): Handler<OperationId> | undefined =>
  (handlers as Partial<Record<OperationId, Handler<never>>>)[id] as Handler<OperationId> | undefined
