import { closeSync, existsSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isBusyError } from '../driver/sqlite/driver.js'

/** A lock of the operating system, which frees it at once when the process ends or is killed. */
export interface Lock {
  release(): void
}

/** Long enough for a process that only checks whether the lock is held. */
const patienceMs = 250

/** Keeps databases with a lock from the garbage collector, which would close them and so free their locks. */
const held = new Set<Database.Database>()

/**
 * Takes the lock of a file, which is created if missing; `undefined` when another process, or this one, holds it after
 * `timeout` milliseconds.
 */
export function takeLock(path: string, timeout = patienceMs): Lock | undefined {
  // Only a missing file is opened: closing a file releases the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path, { timeout })
  try {
    // An exclusive transaction holds the file's lock until it ends.
    database.exec('BEGIN EXCLUSIVE')
    held.add(database)
    return {
      release: () => {
        held.delete(database)
        database.close()
      },
    }
  } catch (error) {
    database.close()
    if (isBusyError(error)) return undefined
    throw error
  }
}

/** Whether any process holds the lock of a file. */
export function isLocked(path: string): boolean {
  let database: Database.Database
  try {
    database = new Database(path, { timeout: 0, readonly: true })
  } catch {
    return false
  }
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    return isBusyError(error)
  } finally {
    database.close()
  }
}
