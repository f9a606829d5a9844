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
import { Refusal } from '../../api/calls/errors.js'
import { checkVersion } from '../driver/sqlite/driver.js'
import { removeBesides, whileUnused } from './database-file.js'
import { type Schema, toSchemaState } from './migrate.js'

/** What a database must be to take the place of another. */
export interface Expected {
  /** A table that only this kind of database has. */
  readonly table: string
  readonly schema: Schema
}

/**
 * Writes a snapshot of a database that others may use meanwhile. The copy is created with mode 0600, gets its name when it
 * is complete and durable, and never replaces another file. Returns its size in bytes.
 */
export function backup(location: string, file: string): number {
  if (existsSync(file)) throw alreadyExists(file)
  const partial = partialOf(file)
  begin(partial)
  try {
    copy(location, partial)
    publish(partial, file)
    return statSync(file).size
  } finally {
    discard(partial)
  }
}

/**
 * Replaces a database that no process has open by a backup. The backup is checked before anything is changed, and is not
 * changed itself. Returns its schema version.
 */
export function restore(file: string, location: string, expected: Expected): number {
  if (!existsSync(file)) throw new Refusal('database.no_file', { file })
  const partial = partialOf(location)
  mkdirSync(dirname(location), { recursive: true, mode: 0o700 })
  begin(partial)
  try {
    copy(file, partial)
    const version = checkCopy(partial, file, expected)
    whileUnused(location, () => {
      removeBesides(location)
      renameSync(partial, location)
    })
    syncFolder(dirname(location))
    return version
  } finally {
    discard(partial)
  }
}

/** The refusal of a name that another file has. */
export const alreadyExists = (file: string): Refusal => new Refusal('database.file_exists', { file })

/** Where a file is written until it is complete: a name that only this process uses. */
export const partialOf = (file: string): string => `${file}.${process.pid}.partial`

/** Opens a new file for writing, for its owner only. One that is there may be another's, and stays. */
export function create(partial: string): number {
  try {
    return openSync(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Refusal('database.partial_exists', { file: partial })
  }
}

function begin(partial: string): void {
  try {
    closeSync(create(partial))
  } catch (error) {
    throw toFileRefusal(error, partial, partial)
  }
}

/** Copies a database into an empty file. */
function copy(from: string, to: string): void {
  try {
    const source = new Database(from, { readonly: true, fileMustExist: true, timeout: 10_000 })
    try {
      checkVersion(source.prepare('SELECT sqlite_version()').pluck().get() as string)
      source.prepare('VACUUM INTO ?').run(to)
    } finally {
      source.close()
    }
    sync(to)
  } catch (error) {
    throw toFileRefusal(error, from, to)
  }
}

/**
 * Gives a durable file its name. A link, unlike a rename, never replaces what has appeared under the name meanwhile.
 */
export function publish(partial: string, file: string): void {
  try {
    linkSync(partial, file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') throw alreadyExists(file)
    if (existsSync(file)) throw alreadyExists(file)
    renameSync(partial, file)
  }
  syncFolder(dirname(file))
}

/** The schema version of a whole, sound copy of the right kind. */
function checkCopy(copied: string, file: string, { table, schema }: Expected): number {
  const database = new Database(copied, { readonly: true })
  try {
    const stored = database.pragma('user_version', { simple: true }) as number
    const { is, version, newest } = toSchemaState(stored, schema)
    const known = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table)
    if (is === 'empty' || !known) throw new Refusal('database.not_backup', { file })
    if (is === 'unfinished') throw new Refusal('database.backup_unfinished', { file })
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

function discard(partial: string): void {
  rmSync(partial, { force: true })
  removeBesides(partial)
}

function sync(path: string, flags = 'r+'): void {
  const descriptor = openSync(path, flags)
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function syncFolder(folder: string): void {
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
