import type { Driver } from '../driver/connection.js'
import type { PostgresOptions } from '../driver/postgres/driver.js'
import { openSqlite, type SqliteOptions } from '../driver/sqlite/driver.js'
import { isPostgres } from './location.js'

/** Opens the database at a location: a `postgres://` address, whose driver is loaded then, a path or `:memory:`. */
export async function openDatabase(
  location: string,
  { sqlite, postgres }: { readonly sqlite?: SqliteOptions; readonly postgres?: PostgresOptions } = {},
): Promise<Driver> {
  if (!isPostgres(location)) return openSqlite(location, sqlite)
  const { openPostgres } = await import('../driver/postgres/driver.js')
  return openPostgres(location, postgres)
}
