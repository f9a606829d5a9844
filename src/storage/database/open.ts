import { type Driver, isPostgres } from '../driver/connection.js'
import type { PostgresOptions } from '../driver/postgres/driver.js'
import { openSqlite, type SqliteOptions } from '../driver/sqlite/driver.js'

/** Opens the database at a location: a `postgres://` address, whose driver is loaded then, a path or `:memory:`. */
export async function openDatabase(
  location: string,
  { sqlite, postgres }: { readonly sqlite?: SqliteOptions; readonly postgres?: PostgresOptions } = {},
): Promise<Driver> {
  if (!isPostgres(location)) return openSqlite(location, sqlite)
  const { openPostgres } = await import('../driver/postgres/driver.js')
  return openPostgres(location, postgres)
}

/** Where the engine's database is, and the catalogue's file unless both share a server. */
interface DatabaseLocations {
  readonly engine: string
  readonly catalogue: string
}

/** Follows the name of the engine's schema in that of the catalogue's. */
const schemaSuffix = '_catalogue'

/** Whether machines share the catalogue: then it is in the PostgreSQL database of the engine, in another schema. */
export const isShared = ({ engine }: Pick<DatabaseLocations, 'engine'>): boolean => isPostgres(engine)

/** Opens the database of a catalogue without migrating its schema. */
export const openCatalogueDatabase = async (locations: DatabaseLocations): Promise<Driver> =>
  isShared(locations) ? openShared(locations.engine) : openSqlite(locations.catalogue, { pageBytes: 8_192 })

/** Opens the database of a shared catalogue; `undefined` when there is none. */
export async function findSharedCatalogue(url: string): Promise<Driver | undefined> {
  const { hasSchemaBeside } = await import('../driver/postgres/driver.js')
  return (await hasSchemaBeside(url, schemaSuffix)) ? openShared(url) : undefined
}

/** Opens the database of the catalogue that belongs to the engine at a `postgres://` address. */
export const openShared = (url: string): Promise<Driver> =>
  openDatabase(url, { postgres: { schemaSuffix, replan: true, listsAsArrays: true } })
