import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { interrupted, Refusal } from '../../api/calls/errors.js'
import { checkVersion } from '../driver/sqlite/driver.js'
import { partialOf, removeBesides, removeLeftovers } from '../driver/sqlite/partial.js'
import { whileUnused } from './database-file.js'
import { toSchemaState } from './migrate.js'

/** Writes a snapshot of a database in use: a new file of mode 0600, named once it is complete and durable. Returns its bytes. */
export async function backup(location: string, file: string): Promise<number> {
  if (existsSync(file)) throw alreadyExists(file)
  return withCopy(location, file, vacuumInto, (partial) => {
    publish(partial, file)
    return statSync(file).size
  })
}

const never = new AbortController().signal

/** A backup of a database, which has a table that only this kind of database has. */
interface Restored {
  readonly file: string
  readonly location: string
  readonly table: string
}

/**
 * Replaces databases that no process has open by backups, all of which are checked first. Returns their schema versions. A
 * signal ends it before anything is replaced, and what it has copied goes.
 */
export async function restore(
  backups: readonly Restored[],
  signal: AbortSignal = never,
): Promise<readonly number[]> {
  for (const { file } of backups) {
    const kind = statSync(file, { throwIfNoEntry: false })
    if (!kind) throw new Refusal('database.no_file', { file })
    // SQLite would wait for the writer of a pipe, and for nothing else.
    if (!kind.isFile()) throw new Refusal('database.not_one', { file })
  }
  return withCopies(backups, signal, (partials) => {
    for (const { location } of backups) whileUnused(location, () => {})
    for (const [at, { location }] of backups.entries())
      whileUnused(location, () => {
        removeBesides(location)
        renameSync(partials[at] ?? '', location)
      })
    for (const { location } of backups) syncFolder(dirname(location))
  })
}

/** Copies backups beside the databases that they replace, and checks them. Returns their schema versions after the use. */
async function withCopies(
  [first, ...others]: readonly Restored[],
  signal: AbortSignal,
  use: (partials: readonly string[]) => void,
): Promise<readonly number[]> {
  if (!first) {
    if (signal.aborted) throw interrupted(signal, 'restoring')
    use([])
    return []
  }
  const { file, location, table } = first
  mkdirSync(dirname(location), { recursive: true, mode: 0o700 })
  return withCopy(file, location, pagesUnless(signal), async (partial) => {
    const version = checkCopy(partial, file, table)
    return [version, ...(await withCopies(others, signal, (partials) => use([partial, ...partials])))]
  })
}

const pagesUnless = (signal: AbortSignal) => async (source: Database.Database, to: string) => {
  const progress = () => {
    if (signal.aborted) throw interrupted(signal, 'restoring')
    return pagesAtOnce
  }
  await source.backup(to, { progress })
  // One that was in use when it was copied has a log of its own.
  const copied = new Database(to)
  copied.pragma('journal_mode = DELETE')
  copied.close()
}

/** Pages of a database that are copied before a signal is looked for. */
const pagesAtOnce = 2_048

type Copying = (source: Database.Database, to: string) => unknown

/** Copies a database beside a file, and removes what is left of the copy after its use. */
async function withCopy<T>(
  from: string,
  file: string,
  copying: Copying,
  use: (partial: string) => T | Promise<T>,
): Promise<T> {
  const partial = partialOf(file)
  try {
    removeLeftovers(file)
    closeSync(create(partial))
  } catch (error) {
    throw toFileRefusal(error, file, file)
  }
  try {
    await copy(from, partial, copying)
    return await use(partial)
  } finally {
    rmSync(partial, { force: true })
    removeBesides(partial)
  }
}

const alreadyExists = (file: string): Refusal => new Refusal('database.file_exists', { file })

/** Opens a new file for writing, for its owner only. One that is there may be another's, and stays. */
function create(partial: string): number {
  try {
    return openSync(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Refusal('database.partial_exists', { file: partial })
  }
}

const vacuumInto: Copying = (source, to) => source.prepare('VACUUM INTO ?').run(to)

async function copy(from: string, to: string, copying: Copying): Promise<void> {
  try {
    const source = new Database(from, { readonly: true, fileMustExist: true, timeout: 10_000 })
    try {
      checkVersion(source.prepare('SELECT sqlite_version()').pluck().get() as string)
      await copying(source, to)
    } finally {
      source.close()
    }
    sync(to)
  } catch (error) {
    throw toFileRefusal(error, from, to)
  }
}

/** Gives a durable file its name. A link, unlike a rename, never replaces what has appeared there meanwhile. */
export function publish(partial: string, file: string): void {
  try {
    linkSync(partial, file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(file)) throw alreadyExists(file)
    renameSync(partial, file)
  }
  syncFolder(dirname(file))
}

/** The schema version of a whole, sound copy of the right kind. */
function checkCopy(copied: string, file: string, table: string): number {
  const database = new Database(copied, { readonly: true })
  try {
    const stored = database.pragma('user_version', { simple: true }) as number
    const { is, version, newest } = toSchemaState(stored)
    const known = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table)
    if (is === 'empty' || !known) throw new Refusal('database.not_backup', { file })
    if (is === 'moved') throw new Refusal('database.backup_moved', { file })
    if (is === 'newer') throw new Refusal('database.backup_newer', { file, version, newest })
    const verdict = database.pragma('integrity_check(1)', { simple: true })
    const orphans = database.pragma('foreign_key_check') as unknown[]
    if (verdict !== 'ok' || orphans.length > 0) throw damaged(file)
    return version
  } catch (error) {
    throw toFileRefusal(error, file, copied)
  } finally {
    database.close()
  }
}

const damaged = (file: string): Refusal => new Refusal('database.damaged', { file })

export function sync(path: string, flags = 'r+'): void {
  const descriptor = openSync(path, flags)
  fsyncSync(descriptor)
  closeSync(descriptor)
}

export function syncFolder(folder: string): void {
  if (process.platform !== 'win32') sync(folder, 'r')
}

function toFileRefusal(error: unknown, from: string, to: string): unknown {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (typeof code !== 'string' || error instanceof Refusal) return error
  if (typeof syscall === 'string') return new Refusal('database.unwritable', { file: to, code })
  if (code === 'SQLITE_NOTADB') return new Refusal('database.not_one', { file: from })
  if (code.startsWith('SQLITE_CORRUPT')) return damaged(from)
  if (code === 'SQLITE_FULL') return new Refusal('database.no_room', { file: to })
  return code.startsWith('SQLITE_') ? new Refusal('database.uncopyable', { file: from, code }) : error
}
