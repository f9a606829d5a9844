import {
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { Refusal } from '../../api/calls/errors.js'
import { resultOr } from '../../api/values/objects.js'
import {
  type Connection,
  type Driver,
  insertInto,
  readPortions,
  type StoredRow,
} from '../driver/connection.js'
import { isLost } from '../driver/postgres/errors.js'
import { checkVersion } from '../driver/sqlite/driver.js'
import { removeBesides, whileUnused } from './database-file.js'
import { toSchemaState } from './migrate.js'

/** Writes a snapshot of a database in use: a new file of mode 0600, named once it is complete and durable. Returns its bytes. */
export function backup(location: string, file: string): number {
  if (existsSync(file)) throw alreadyExists(file)
  return withCopy(location, file, (partial) => {
    publish(partial, file)
    return statSync(file).size
  })
}

/**
 * Replaces a database that no process has open by a backup, which is checked first: it has a table that only this kind of
 * database has. Returns its schema version.
 */
export function restore(file: string, location: string, table: string): number {
  if (!existsSync(file)) throw new Refusal('database.no_file', { file })
  mkdirSync(dirname(location), { recursive: true, mode: 0o700 })
  return withCopy(file, location, (partial) => {
    const version = checkCopy(partial, file, table)
    whileUnused(location, () => {
      removeBesides(location)
      renameSync(partial, location)
    })
    syncFolder(dirname(location))
    return version
  })
}

/** Copies a database beside a file, and removes what is left of the copy after its use. */
function withCopy<T>(from: string, file: string, use: (partial: string) => T): T {
  const partial = partialOf(file)
  try {
    closeSync(create(partial))
  } catch (error) {
    throw toFileRefusal(error, file, file)
  }
  try {
    copy(from, partial)
    return use(partial)
  } finally {
    rmSync(partial, { force: true })
    removeBesides(partial)
  }
}

const alreadyExists = (file: string): Refusal => new Refusal('database.file_exists', { file })

/** Where a file is written until it is complete: a name that only this process uses. */
const partialOf = (file: string): string => `${file}.${process.pid}.partial`

/** Opens a new file for writing, for its owner only. One that is there may be another's, and stays. */
function create(partial: string): number {
  try {
    return openSync(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Refusal('database.partial_exists', { file: partial })
  }
}

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

const rowsAtOnce = 500
const largeAtOnce = 50

/** The tables of a database that an export holds. */
export interface ExportedTables {
  /** What its first line says. */
  readonly format: string
  /** The columns that identify the rows of each table; a table follows those that it refers to. */
  readonly keys: Readonly<Record<string, readonly string[]>>
  /** Tables whose rows may be large, such as bodies of requests, so that fewer of them are read at once. */
  readonly large: readonly string[]
}

interface TableRow {
  readonly table: string
  readonly row: StoredRow
}

/** A line of an export: its header, a row of a table, or its end. */
type ExportLine = { readonly format: string; readonly schema: number } | TableRow | { readonly rows: number }

/** Writes a snapshot of tables as lines of JSON that any database takes, to a new file as `backup` does. Returns the rows. */
export async function exportTables(driver: Driver, file: string, tables: ExportedTables): Promise<number> {
  if (existsSync(file)) throw alreadyExists(file)
  const partial = partialOf(file)
  let isOurs = false
  const begin = () => {
    // This runs again when the connection was lost, and then writes the file from its beginning.
    if (isOurs) rmSync(partial, { force: true })
    const to = create(partial)
    isOurs = true
    return to
  }
  try {
    const rows = await driver.read((connection) => onDisk(file, () => writeAll(connection, begin(), tables)))
    publish(partial, file)
    return rows
  } finally {
    if (isOurs) rmSync(partial, { force: true })
  }
}

/** Runs something that reads or writes a file. Throws errors of the system as a Refusal. */
async function onDisk<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // Errors of the connection to a server have the same codes; the driver retries after them.
    if (isLost(error)) throw error
    const { code, syscall } = error as NodeJS.ErrnoException
    if (typeof syscall !== 'string' || !['open', 'read', 'write', 'fsync', 'unlink'].includes(syscall))
      throw error
    throw new Refusal('database.unusable', { file, code })
  }
}

async function writeAll(connection: Connection, to: number, { format, keys, large }: ExportedTables) {
  const write = (line: ExportLine) => writeFileSync(to, `${JSON.stringify(line)}\n`)
  try {
    let written = 0
    write({ format, schema: toSchemaState(0).newest })
    for (const [table, key] of Object.entries(keys)) {
      const limit = large.includes(table) ? largeAtOnce : rowsAtOnce
      for await (const rows of readPortions(connection, { table, key, limit })) {
        for (const row of rows) write({ table, row })
        written += rows.length
      }
    }
    write({ rows: written })
    fsyncSync(to)
    return written
  } finally {
    closeSync(to)
  }
}

/** Imports exported tables; returns how many rows. */
export async function importTables(connection: Connection, file: string, tables: ExportedTables) {
  if (!existsSync(file)) throw new Refusal('database.no_file', { file })
  return await onDisk(file, () => readAll(connection, file, tables))
}

async function readAll(connection: Connection, file: string, tables: ExportedTables): Promise<number> {
  let read = 0
  let isWhole = false
  let added: Promise<unknown>[] = []
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    const line = lineOf(text, file)
    if (read === 0) checkFirst(line, file, tables)
    else if (isWhole || 'format' in line) throw notAnExport(file)
    if ('table' in line) added.push(addRow(connection, line, file, tables))
    else if ('rows' in line) isWhole = line.rows === read - 1
    read += 1
    if (added.length >= rowsAtOnce) {
      await Promise.all(added)
      added = []
    }
  }
  await Promise.all(added)
  if (!isWhole) throw notAnExport(file)
  return read - 2
}

function lineOf(text: string, file: string): ExportLine {
  const line: unknown = resultOr(undefined, () => JSON.parse(text))
  if (typeof line !== 'object' || line === null) throw notAnExport(file)
  return line as ExportLine
}

function checkFirst(line: ExportLine, file: string, tables: ExportedTables): void {
  const { format: found, schema } = line as { format?: unknown; schema?: unknown }
  if (found !== tables.format || !Number.isSafeInteger(schema)) throw notAnExport(file)
  const { is, version, newest } = toSchemaState(Number(schema))
  if (is !== 'current') throw new Refusal('database.export_version', { file, version, newest })
}

function addRow(connection: Connection, { table, row }: TableRow, file: string, { keys }: ExportedTables) {
  const columns = Object.keys(row ?? {})
  if (
    !Object.hasOwn(keys, table) ||
    columns.length === 0 ||
    !columns.every((name) => /^[a-z_]+$/.test(name) && isValue(row[name]))
  )
    throw notAnExport(file)
  const valuesOf = (names: readonly string[]) => names.map((name) => row[name] ?? null)
  const add = async () => connection.run(insertInto(table, columns).sql, ...valuesOf(columns))
  const adding = add().catch((error: unknown) => {
    const code = String((error as { code?: unknown }).code)
    // What PostgreSQL cannot store. The row is named by its key, without secrets.
    const key = JSON.stringify(valuesOf((keys[table] ?? []).filter((name) => name !== 'secret')))
    if (code === '22021') throw new Refusal('database.nul_in_row', { file, table, key })
    const isRule = /^(?:SQLITE_CONSTRAINT|SQLITE_ERROR|22|23|42|P0001)/.test(code)
    throw isRule ? new Refusal('database.export_contradicts', { file, table }) : error
  })
  // A row may fail after another one has ended the import.
  adding.catch(() => {})
  return adding
}

const isValue = (value: unknown) => value === null || typeof value === 'string' || typeof value === 'number'

const notAnExport = (file: string): Refusal => new Refusal('database.not_export', { file })
