import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
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
export const schemaSuffix = '_catalogue'
/** Bytes of a page of its file. */
export const pageBytes = 8_192

/** Whether machines share the catalogue: then it is in the PostgreSQL database of the engine, in another schema. */
export const isShared = ({ engine }: Pick<DatabaseLocations, 'engine'>): boolean => isPostgres(engine)

/** Opens the database of a catalogue without migrating its schema. */
export const openCatalogueDatabase = async (locations: DatabaseLocations): Promise<Driver> =>
  isShared(locations) ? openShared(locations.engine) : openSqlite(locations.catalogue, { pageBytes })

/** Whether there is a shared catalogue. To create one may need more rights than to read it. */
export async function hasSharedCatalogue(url: string): Promise<boolean> {
  const { hasSchemaBeside } = await import('../driver/postgres/driver.js')
  return hasSchemaBeside(url, schemaSuffix)
}

/** Opens the database of a catalogue; `undefined` when there is none. */
export async function findCatalogueDatabase(locations: DatabaseLocations): Promise<Driver | undefined> {
  const { engine, catalogue } = locations
  const isThere = isShared(locations) ? await hasSharedCatalogue(engine) : existsSync(catalogue)
  return isThere ? openCatalogueDatabase(locations) : undefined
}

/** Opens the database of the catalogue that belongs to the engine at a `postgres://` address. */
export const openShared = (url: string): Promise<Driver> =>
  openDatabase(url, { postgres: { schemaSuffix, replan: true, listsAsArrays: true } })

/** Between two looks at a database, in milliseconds. A look takes microseconds, and on a server a short query. */
const lookMs = 300

/**
 * Calls `onChange` after any process, this one included, has committed a change to one of the databases. On a server a
 * change of another database there counts as well. A file may be created later. Returns what ends this.
 */
export function watchDatabases(locations: readonly string[], onChange: () => void): () => void {
  const marks = [...new Set(locations)].map((location) =>
    (isPostgres(location) ? serverMark : fileMark)(location),
  )
  let before: string | undefined
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const now = (await Promise.all(marks.map((mark) => mark.read()))).join(' ')
      if (before !== undefined && now !== before) onChange()
      before = now
    } catch {
      // A database that cannot be reached for a moment is asked again.
    }
    isLooking = false
  }
  const timer = setInterval(look, lookMs)
  void look()
  return () => {
    clearInterval(timer)
    for (const mark of marks) mark.close()
  }
}

/** A text that differs after a change. */
interface ChangeMark {
  read(): Promise<string>
  close(): void
}

/** SQLite tells a connection when another one has committed, so that this one never writes. */
function fileMark(path: string): ChangeMark {
  let database: Database.Database | undefined
  return {
    read: async () => {
      if (!database && existsSync(path)) database = new Database(path, { readonly: true })
      return String(database?.pragma('data_version', { simple: true }) ?? '')
    },
    close: () => void database?.close(),
  }
}

const markSql = 'SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS mark'

/** The next transaction number of a server differs after each transaction that has written. */
function serverMark(url: string): ChangeMark {
  let opened: Promise<Driver> | undefined
  return {
    read: async () => {
      opened ??= openDatabase(url)
      const row = await (await opened).read((reads) => reads.get<{ mark: string }>(markSql))
      return row?.mark ?? ''
    },
    close: () => void opened?.then((driver) => driver.close()).catch(() => {}),
  }
}
