import type { OperationId } from '../../api/operations/table.js'
import { account, credits } from './account.js'
import { accounts } from './accounts.js'
import { contacts, messenger } from './contacts.js'
import type { Handler } from './handler.js'
import { intents } from './intents.js'
import { leads } from './leads.js'
import { lists } from './lists.js'
import { personas } from './personas.js'
import { searches } from './searches.js'
import { locations, titles } from './suggestions.js'

const all: { readonly [Id in OperationId]: Handler<Id> } = {
  ...account,
  ...accounts,
  ...contacts,
  ...credits,
  ...intents,
  ...leads,
  ...lists,
  ...locations,
  ...messenger,
  ...personas,
  ...searches,
  ...titles,
}

/** The handler of every operation. A missing one does not compile. */
export const handlers = all as Readonly<Record<OperationId, Handler<OperationId>>>
