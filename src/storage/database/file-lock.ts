import { closeSync, existsSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'

/** A lock of the operating system, which frees it at once when its process ends, however that ends. */
export interface Lock {
  release(): void
}

/** Long enough for somebody who only looks whether it is held. */
const patienceMs = 250

/** Keeps databases with a lock from the garbage collector, which would close them and so free their locks. */
const held = new Set<Database.Database>()

/** Takes the lock of a file, which is made where it is missing; nothing when another process, or this one, holds it. */
export function takeLock(path: string): Lock | undefined {
  // Not where it exists: closing a file gives up the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path, { timeout: patienceMs })
  try {
    // A transaction that keeps all others out holds the file's lock for as long as it is open.
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
    if (/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) return undefined
    throw error
  }
}

/** Whether somebody holds the lock of a file. */
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
    return /^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))
  } finally {
    database.close()
  }
}
