import type { z } from 'zod'
import type { OperationId } from '../operations/table.js'
import type { account } from './account.js'
import type { accounts } from './accounts.js'
import type { contacts } from './contacts.js'
import type { credits } from './credits.js'
import type { intents } from './intents.js'
import type { leads } from './leads.js'
import type { lists } from './lists.js'
import type { locations } from './locations.js'
import type { messenger } from './messenger.js'
import type { personas } from './personas.js'
import type { searches } from './saved-searches.js'
import type { titles } from './titles.js'

/** Schemas of an operation. `input` holds body, query and path parameters; `output` the body of a success. */
export interface Shape {
  readonly input: z.ZodObject
  readonly output: z.ZodType
}

/** Functions that build the schemas of each operation. An area has many, and a command needs those of one operation. */
type Builders = typeof account &
  typeof accounts &
  typeof contacts &
  typeof credits &
  typeof intents &
  typeof leads &
  typeof lists &
  typeof locations &
  typeof messenger &
  typeof personas &
  typeof searches &
  typeof titles

/** The schemas of every operation by its id. */
export type Shapes = { readonly [Id in OperationId]: ReturnType<Builders[Id]> }

/** The validated input of an operation. */
export type InputOf<Id extends OperationId> = z.output<Shapes[Id]['input']>
/** The body of an operation's success. */
export type OutputOf<Id extends OperationId> = z.output<Shapes[Id]['output']>

const areas: Readonly<Record<string, () => Promise<Partial<Record<OperationId, () => Shape>>>>> = {
  account: async () => (await import('./account.js')).account,
  accounts: async () => (await import('./accounts.js')).accounts,
  contacts: async () => (await import('./contacts.js')).contacts,
  credits: async () => (await import('./credits.js')).credits,
  intents: async () => (await import('./intents.js')).intents,
  leads: async () => (await import('./leads.js')).leads,
  lists: async () => (await import('./lists.js')).lists,
  locations: async () => (await import('./locations.js')).locations,
  messenger: async () => (await import('./messenger.js')).messenger,
  personas: async () => (await import('./personas.js')).personas,
  searches: async () => (await import('./saved-searches.js')).searches,
  titles: async () => (await import('./titles.js')).titles,
}

const built = new Map<OperationId, Shape>()

/** Returns the schemas of an operation, built on first use. */
export async function shapeOf(id: OperationId): Promise<Shape> {
  const area = await areas[id.slice(0, id.indexOf('.'))]?.()
  // Read after the area is loaded, so that two concurrent calls get the same schemas.
  const shape = built.get(id) ?? area?.[id]?.()
  if (!shape) throw new Error(`no schemas for ${id}`)
  built.set(id, shape)
  return shape
}
