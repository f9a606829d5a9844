import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Connection, Driver, Value } from '../driver/connection.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import { understood } from '../driver/sqlite/driver.js'

/** A database file that is only looked at: nothing in it changes, and its schema stays as it is. */
export interface Look {
  /** For questions, one after the other; transactions are refused. */
  readonly driver: Driver
  /** The number of the schema the file has; 0 for an empty one. */
  schema(): Promise<number>
  /** Reads the whole file and tells what is damaged, in SQLite's words; nothing where it is sound. */
  faults(): readonly string[]
}

/** Most faults that are told. */
const mostFaults = 5
/** How long another process may keep the file to itself. */
const patienceMs = 2_000

/** Opens an existing SQLite file for looking; throws an `ApiError` in our own words where it cannot be read. */
export function lookAt(path: string): Look {
  const database = opened(path)
  const connection = connectionOf(database)
  const driver: Driver = {
    dialect: sqliteDialect,
    read: async (work) => work(connection),
    readShared: async (_, work) => work(connection),
    transaction: async () => {
      throw new Error('a database that is looked at is not changed')
    },
    set: async () => {},
    flush: async () => {},
    close: async () => void database.close(),
  }
  return {
    driver,
    schema: () => sqliteDialect.readSchemaNumber(connection),
    faults: () =>
      (
        connection.all<{ quick_check: string }>(`PRAGMA quick_check(${mostFaults})`) as {
          quick_check: string
        }[]
      )
        .map(({ quick_check: fault }) => fault)
        .filter((fault) => fault !== 'ok'),
  }
}

/** The version of SQLite itself. */
export function sqliteVersion(): string {
  const database = new Database(':memory:')
  try {
    return database.prepare('SELECT sqlite_version()').pluck().get() as string
  } finally {
    database.close()
  }
}

// Whoever opens a file in WAL mode to read it only makes the files of the log where they are missing, and leaves them
// behind; a connection that could write takes them away again. Where they are there, nothing must be written back.
function opened(path: string): Database.Database {
  return spoken(() => {
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

const connectionOf = (database: Database.Database): Connection => ({
  dialect: sqliteDialect,
  known: new Map(),
  get: <T>(sql: string, ...values: Value[]) =>
    spoken(() => database.prepare(sql).get(...values) as T | undefined),
  all: <T>(sql: string, ...values: Value[]) => spoken(() => database.prepare(sql).all(...values) as T[]),
  run: (sql, ...values) => spoken(() => database.prepare(sql).run(...values).changes),
  exec: (sql) => spoken(() => void database.exec(sql)),
})

/** Does something with SQLite; its errors come in our own words. */
function spoken<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw understood(error)
  }
}
