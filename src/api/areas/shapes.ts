import type { z } from 'zod'
import { areaOf, type Operation, type OperationId } from '../operations/table.js'
import type { Schemas } from '../schemas/fields.js'

/** Schemas of an operation. `input` holds body, query and path parameters; `output` the body of a success. */
export type Shape = Schemas<z.ZodObject, z.ZodType>

// An area is loaded with the first of its operations, and only the schemas that are needed are built.
const areas = {
  account: () => import('./account.js'),
  accounts: () => import('./accounts.js'),
  contacts: () => import('./contacts.js'),
  credits: () => import('./account.js'),
  intents: () => import('./intents.js'),
  leads: () => import('./leads.js'),
  lists: () => import('./lists.js'),
  locations: () => import('./suggestions.js'),
  messenger: () => import('./contacts.js'),
  personas: () => import('./personas.js'),
  searches: () => import('./searches.js'),
  titles: () => import('./suggestions.js'),
}

type Builders = Awaited<ReturnType<(typeof areas)[keyof typeof areas]>>['shapes']

type BuiltBy<Area, Id extends OperationId> =
  Area extends Readonly<Record<Id, () => infer Built extends Shape>> ? Built : never

type Shapes = { readonly [Id in OperationId]: BuiltBy<Builders, Id> }

/** The fields of a request to an operation: body, query and path parameters in one object. */
export type InputTo<Id extends OperationId> = z.input<Shapes[Id]['input']>
/** The same as the engine reads them, with what they are by default. */
export type InputOf<Id extends OperationId> = z.output<Shapes[Id]['input']>
/** The body of an operation's success. */
export type OutputOf<Id extends OperationId> = z.output<Shapes[Id]['output']>

const built = new Map<OperationId, Shape>()

/** Returns the schemas of an operation, built on first use. */
export async function shapeOf(id: OperationId): Promise<Shape> {
  const known = built.get(id)
  if (known) return known
  const { shapes } = await areas[areaOf(id) as keyof typeof areas]()
  // Read after the area is loaded, so that two concurrent calls get the same schemas.
  const build = (shapes as Partial<Record<OperationId, () => Shape>>)[id]
  if (!build) throw new Error(`no schemas for ${id}`)
  const shape = built.get(id) ?? build()
  built.set(id, shape)
  return shape
}

/** Returns the record that an operation answers with, where nothing of it is known. */
export async function emptyRecord(id: 'leads.enrich' | 'accounts.enrich') {
  const { output } = await shapeOf(id)
  const fields = Object.entries((output as z.ZodObject).shape)
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (field.safeParse(null).success ? [[name, null]] : [])),
  )
}

/** Returns the schemas of the lookup of a row. That of an import is answered with what the import found. */
export async function rowShapeOf(operation: Operation): Promise<Shape> {
  const shape = await shapeOf(operation.id)
  if (operation.batch?.found === undefined || operation.starts === undefined) return shape
  return { ...shape, output: (await areas.searches()).foundPeople() }
}
