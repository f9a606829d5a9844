import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Driver } from '../driver/connection.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import { createSession, lazily, translateErrors } from '../driver/sqlite/driver.js'

/** A database file opened for reading: nothing in it changes, and its schema is not migrated. */
export type ReadOnlyDatabase = ReturnType<typeof openReadOnly>

/** Maximum number of faults returned. */
const mostFaults = 5
/** How long another process may keep the file to itself. */
const patienceMs = 2_000

/** Opens an existing SQLite file read-only. Throws an `ApiError` when it cannot be read. */
export function openReadOnly(path: string) {
  const database = openFile(path)
  const { connection } = createSession(
    lazily(() => database),
    'BEGIN',
  )
  const driver: Driver = {
    dialect: sqliteDialect,
    read: async (work) => work(connection),
    readShared: async (_, work) => work(connection),
    transaction: async () => {
      throw new Error('a database that was opened read-only is not changed')
    },
    set: async () => {},
    flush: async () => {},
    requireWritable: async () => {},
    aheadMs: () => 0,
    onWork: () => () => {},
    close: async () => void database.close(),
  }
  return {
    /** For reads, one after the other; transactions are refused. */
    driver,
    /** Returns the schema number of the file; 0 for an empty one. */
    schema: () => sqliteDialect.readSchemaNumber(connection),
    /** Reads the whole file and returns what is damaged, in SQLite's words; empty when it is sound. */
    faults: (): readonly string[] => {
      const found = translateErrors(() => database.pragma(`quick_check(${mostFaults})`))
      return (found as { quick_check: string }[])
        .map((row) => row.quick_check)
        .filter((fault) => fault !== 'ok')
    },
  }
}

/** Returns the version of SQLite itself. */
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
      timeout: patienceMs,
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
