import type { Driver } from './driver.js'
import { isPostgres } from './location.js'
import type { PostgresOptions } from './postgres.js'
import { openSqlite, type SqliteOptions } from './sqlite.js'

/** Opens the database at a location: a `postgres://` address, whose driver is loaded then, a path or `:memory:`. */
export async function openDatabase(
  location: string,
  { sqlite, postgres }: { readonly sqlite?: SqliteOptions; readonly postgres?: PostgresOptions } = {},
): Promise<Driver> {
  if (!isPostgres(location)) return openSqlite(location, sqlite)
  const { openPostgres } = await import('./postgres.js')
  return openPostgres(location, postgres)
}
