import { existsSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Refusal } from '../../api/calls/errors.js'
import { type Driver, isPostgres } from '../driver/connection.js'
import {
  checkVersion,
  createDriver,
  fromSqliteError,
  isBusyError,
  lazily,
  translateErrors,
} from '../driver/sqlite/driver.js'
import { besides } from '../driver/sqlite/partial.js'

/** Returns the path of a database that is a file. Throws for a location on a server or in memory. */
export function databaseFile(location: string): string {
  if (location !== ':memory:' && !isPostgres(location)) return location
  throw new Refusal(location === ':memory:' ? 'database.in_memory' : 'database.on_server')
}

/** Runs `work` while no process has the database open. Throws when one has; a damaged file cannot be open. */
export function whileUnused<T>(path: string, work: () => T): T {
  const lock = existsSync(path) ? lockOf(path) : undefined
  // Windows neither renames nor removes an open file, not even one that this process opened.
  if (process.platform === 'win32') lock?.close()
  try {
    return work()
  } finally {
    lock?.close()
  }
}

/** Removes a database with the files SQLite keeps beside it. Returns the paths that existed. */
export function removeDatabase(path: string): string[] {
  const found = [path, ...besides(path)].filter((file) => existsSync(file))
  // The log is removed first: SQLite would replay it into a new database of that name.
  for (const file of found.toReversed()) rmSync(file, { force: true })
  return found
}

/** Returns a connection that excludes all others; leaving WAL mode requires that there is no other. */
function lockOf(path: string): Database.Database | undefined {
  const database = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    database.pragma('journal_mode = DELETE')
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    if (!isBusyError(error)) return undefined
    throw new Refusal('database.in_use', { path })
  }
}

/** Opens a database that no other process has open, and keeps all others out until it is closed. Throws when one has it. */
export function openAlone(path: string): Driver {
  const database = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    checkVersion(database.prepare('SELECT sqlite_version()').pluck().get() as string)
    database.pragma('journal_mode = DELETE')
    // Without it, the lock would end with each transaction.
    database.pragma('locking_mode = EXCLUSIVE')
    database.exec('BEGIN EXCLUSIVE; COMMIT')
    const opened = lazily(() => database)
    opened()
    return createDriver(opened)
  } catch (error) {
    database.close()
    if (isBusyError(error)) throw new Refusal('database.in_use', { path })
    if ((error as { code?: unknown }).code === 'SQLITE_NOTADB')
      throw new Refusal('database.not_one', { file: path })
    throw fromSqliteError(error)
  }
}

/** Rewrites a database, so that its files hold nothing deleted; false while another process uses it. Needs space for a copy. */
export function vacuum(path: string, timeoutMs = 2_000): boolean {
  if (!existsSync(path)) return true
  const database = new Database(path, { fileMustExist: true, timeout: timeoutMs })
  try {
    checkVersion(database.prepare('SELECT sqlite_version()').pluck().get() as string)
    database.exec('VACUUM')
    // The new pages are in the log, and the old ones in the file, until a checkpoint.
    const [written] = database.pragma('wal_checkpoint(TRUNCATE)') as { readonly busy: number }[]
    return written?.busy === 0
  } catch (error) {
    if (isBusyError(error)) return false
    if ((error as { code?: unknown }).code !== 'SQLITE_FULL') throw error
    throw new Refusal('database.no_room_to_rewrite', { path })
  } finally {
    database.close()
  }
}

const maxFaults = 5
/** How long another process may keep the file to itself. */
const timeoutMs = 2_000

/** Opens an existing SQLite file read-only: nothing in it changes. Throws an `ApiError` when it cannot be read. */
export function openReadOnly(path: string): Driver {
  const database = lazily(() => openFile(path))
  database()
  return createDriver(database)
}

/** Reads a whole database and returns what is damaged, in SQLite's words; empty when it is sound. */
export async function findFaults(driver: Driver): Promise<readonly string[]> {
  const found = await driver.read((connection) =>
    connection.all<{ quick_check: string }>(`PRAGMA quick_check(${maxFaults})`),
  )
  return found.map((row) => row.quick_check).filter((fault) => fault !== 'ok')
}

export function sqliteVersion(): string {
  const database = new Database(':memory:')
  try {
    return database.prepare('SELECT sqlite_version()').pluck().get() as string
  } finally {
    database.close()
  }
}

// A read-only connection to a file in WAL mode creates missing log files and leaves them behind; one that could write
// removes them again. When they exist, nothing must be written back.
function openFile(path: string): Database.Database {
  return translateErrors(() => {
    const database = new Database(path, {
      fileMustExist: true,
      readonly: existsSync(`${path}-wal`),
      timeout: timeoutMs,
    })
    try {
      database.pragma('query_only = ON')
      // The first question finds out whether this is a database at all.
      database.prepare('SELECT count(*) FROM sqlite_schema').get()
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}
