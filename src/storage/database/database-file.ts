import { existsSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { isPostgres } from './location.js'

/** A file of a database that cannot be copied, replaced or removed: what is wrong and what to do about it. */
export class DatabaseFileError extends Error {
  override readonly name = 'DatabaseFileError'
  /** Exit code of a command that ends with it: a mistake of usage. */
  readonly exit = 2
  readonly hint: string

  constructor(text: string, hint: string) {
    super(text)
    this.hint = hint
  }
}

/** The path of a database that is a file; a server's or a memory's is refused. */
export function databaseFile(location: string): string {
  if (location !== ':memory:' && !isPostgres(location)) return location
  if (location === ':memory:')
    throw new DatabaseFileError('A database in memory is not a file.', 'It ends with its process.')
  throw new DatabaseFileError(
    'A PostgreSQL database is not a file.',
    'Use the tools of its server: pg_dump copies it, pg_restore brings it back, DROP DATABASE deletes it.',
  )
}

/** Runs `work` while no process has the database open; refuses when one has. A damaged one is open to nobody. */
export function whileUnused<T>(path: string, work: () => T): T {
  const lock = existsSync(path) ? lockOf(path) : undefined
  // Windows neither renames nor removes a file that is open, not even by ourselves.
  if (process.platform === 'win32') lock?.close()
  try {
    return work()
  } finally {
    lock?.close()
  }
}

/** Removes a database with the files SQLite keeps beside it; answers what there was. */
export function removeDatabase(path: string): string[] {
  const found = [path, ...besides(path)].filter((file) => existsSync(file))
  // The log goes first: behind a database it does not belong to, it would be replayed.
  for (const file of found.toReversed()) rmSync(file, { force: true })
  return found
}

/** Removes what SQLite keeps beside a database, so that it is never replayed into another one. */
export function removeBesides(path: string): void {
  for (const file of besides(path)) rmSync(file, { force: true })
}

const besides = (path: string): string[] => ['-wal', '-shm', '-journal'].map((end) => path + end)

/** A connection that keeps all others out; leaving WAL mode needs to be the only one. */
function lockOf(path: string): Database.Database | undefined {
  const database = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    database.pragma('journal_mode = DELETE')
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) return undefined
    throw new DatabaseFileError(
      `Another process has ${path} open.`,
      'Stop it first: a server (prospect serve), a batch, or another command.',
    )
  }
}
