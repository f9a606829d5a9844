import { isPostgres } from '../../../../storage/database/location.js'
import {
  readStoredNumber,
  type Schema,
  type SchemaState,
  toSchemaState,
} from '../../../../storage/database/migrate.js'
import type { Look } from '../../../../storage/database/read-only.js'
import type { Driver } from '../../../../storage/driver/connection.js'
import type { Home } from '../../../context/context.js'
import type { Files } from './files.js'
import { reasonOf } from './reason.js'

/** A database of this machine. */
export type Name = 'engine' | 'catalogue' | 'state'

/** A database as it was found. */
export type Database =
  | { readonly is: 'missing' | 'elsewhere' }
  | { readonly is: 'unreadable'; readonly reason: string }
  | Served
  | Readable

/** A database on a server, as far as it can be asked. */
export type Served =
  | { readonly is: 'unreachable'; readonly reason: string }
  | { readonly is: 'served'; readonly driver: Driver; readonly schema: SchemaState }

/** A database that can be read; only one of this program's version can be asked more than its schema. */
export interface Readable {
  readonly is: 'readable'
  readonly look: Look
  readonly schema: SchemaState
  /** Size in bytes. */
  readonly size: number
}

/** The databases, each opened for looking when it is first asked for. */
export interface Databases {
  find(name: Name): Promise<Database>
  /** One that this program reads and writes as it is; nothing where it is anything else. */
  current(name: Name): Promise<Driver | undefined>
  close(): Promise<void>
}

/** The databases of a home. */
export function databasesOf(home: Home, files: Files): Databases {
  const found = new Map<Name, Promise<Database>>()
  const find = (name: Name): Promise<Database> => {
    const known = found.get(name) ?? open(name, home[name], files)
    found.set(name, known)
    return known
  }
  return {
    find,
    current: async (name) => {
      const database = await find(name)
      if (!('schema' in database) || database.schema.version !== database.schema.newest) return undefined
      return database.is === 'served' ? database.driver : database.look.driver
    },
    close: async () => {
      for (const database of await Promise.all(found.values()))
        if ('look' in database) await database.look.driver.close()
        else if ('driver' in database) await database.driver.close()
    },
  }
}

/** Whether a location is a file, and not a server or memory. */
export const isFile = (location: string): boolean => location !== ':memory:' && !isPostgres(location)

async function open(name: Name, location: string, files: Files): Promise<Database> {
  if (isPostgres(location)) return served(location)
  if (!isFile(location)) return { is: 'elsewhere' }
  const entry = files.entry(location)
  if (!entry) return { is: 'missing' }
  if (entry.kind !== 'file') return { is: 'unreadable', reason: 'it is not a file' }
  const { lookAt } = await import('../../../../storage/database/read-only.js')
  let look: Look | undefined
  try {
    look = lookAt(location)
    const schema = toSchemaState(await look.schema(), await schemaOf[name]())
    return { is: 'readable', look, schema, size: entry.size }
  } catch (error) {
    await look?.driver.close()
    return { is: 'unreadable', reason: reasonOf(error) }
  }
}

/** A server's database, which is asked and not changed. */
async function served(location: string): Promise<Served> {
  const { openPostgres } = await import('../../../../storage/driver/postgres/driver.js')
  try {
    const driver = await openPostgres(location)
    const stored = await driver.read((connection) => readStoredNumber(connection, 'postgres'))
    return { is: 'served', driver, schema: toSchemaState(stored, await schemaOf.engine()) }
  } catch (error) {
    return { is: 'unreachable', reason: error instanceof Error ? error.message : String(error) }
  }
}

/** The schemas of this program, by database. */
const schemaOf: Readonly<Record<Name, () => Promise<Schema>>> = {
  engine: async () => (await import('../../../../storage/engine/migrations.js')).engineSchema,
  catalogue: async () => (await import('../../../../catalogue/schema/sqlite.js')).catalogueSchema,
  state: async () => (await import('../../../../storage/state/open.js')).stateSchema,
}
