import { existsSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isPostgres } from '../driver/connection.js'
import { checkVersion, isBusyError } from '../driver/sqlite/driver.js'

/** A file of a database that cannot be copied, replaced or removed; `hint` says what to do. */
export class DatabaseFileError extends Error {
  override readonly name = 'DatabaseFileError'
  /** Exit code of a command that ends with it. */
  readonly exit = 2
  readonly hint: string

  constructor(text: string, hint: string) {
    super(text)
    this.hint = hint
  }
}

/** Returns the path of a database that is a file. Throws for a location on a server or in memory. */
export function databaseFile(location: string): string {
  if (location !== ':memory:' && !isPostgres(location)) return location
  if (location === ':memory:')
    throw new DatabaseFileError('A database in memory is not a file.', 'It ends with its process.')
  throw new DatabaseFileError(
    'A PostgreSQL database is not a file.',
    'Use the tools of its server: pg_dump copies it, pg_restore brings it back, DROP DATABASE deletes it.',
  )
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

/** Removes the files SQLite keeps beside a database, so that no log is replayed into another one. */
export function removeBesides(path: string): void {
  for (const file of besides(path)) rmSync(file, { force: true })
}

const besides = (path: string): string[] => ['-wal', '-shm', '-journal'].map((end) => path + end)

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
    throw new DatabaseFileError(
      `Another process has ${path} open.`,
      'Stop it first: a server (prospect serve), a batch, or another command.',
    )
  }
}

/**
 * Rewrites a database, so that its file and log hold nothing that was deleted. Returns whether it could: not while another
 * process reads or writes. It needs space for another copy meanwhile.
 */
export function vacuum(path: string, patienceMs = 2_000): boolean {
  if (!existsSync(path)) return true
  const database = new Database(path, { fileMustExist: true, timeout: patienceMs })
  try {
    checkVersion(database.prepare('SELECT sqlite_version()').pluck().get() as string)
    database.exec('VACUUM')
    // The new pages are in the log, and the old ones in the file, until a checkpoint.
    const [written] = database.pragma('wal_checkpoint(TRUNCATE)') as { readonly busy: number }[]
    return written?.busy === 0
  } catch (error) {
    if (isBusyError(error)) return false
    if ((error as { code?: unknown }).code !== 'SQLITE_FULL') throw error
    throw new DatabaseFileError(
      `${path} cannot be rewritten: the disk is full.`,
      'Free some space, then run it again.',
    )
  } finally {
    database.close()
  }
}
