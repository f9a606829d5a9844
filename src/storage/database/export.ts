import { closeSync, createReadStream, existsSync, fsyncSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
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
import { alreadyExists, create, partialOf, publish } from './backup.js'
import { newestVersion, type Schema, storedNumber, toSchemaState } from './migrate.js'

const rowsAtOnce = 500
const largeAtOnce = 50

/** The tables of a database that an export holds. */
export interface ExportedTables {
  /** What its first line says. */
  readonly format: string
  readonly schema: Schema
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

/**
 * Writes a snapshot of tables to a file, as lines of JSON that any database takes. The file is created with mode
 * 0600, gets its name when it is complete and durable, and never replaces another. Returns the number of rows.
 */
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

async function writeAll(
  connection: Connection,
  to: number,
  { format, schema, keys, large }: ExportedTables,
): Promise<number> {
  const write = (line: ExportLine) => writeFileSync(to, `${JSON.stringify(line)}\n`)
  try {
    let written = 0
    write({ format, schema: storedNumber(newestVersion(schema)) })
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

/**
 * Imports exported tables in one transaction. `prepare` gets a function that reads their rows, before which it may empty
 * the database. Returns what `prepare` does: the number of rows.
 */
export async function importTables(
  driver: Driver,
  file: string,
  tables: ExportedTables,
  prepare: (connection: Connection, readRows: () => Promise<number>) => Promise<number>,
): Promise<number> {
  if (!existsSync(file)) throw new Refusal('database.no_file', { file })
  return await driver.transaction((connection) =>
    prepare(connection, () => onDisk(file, () => readAll(connection, file, tables))),
  )
}

async function readAll(connection: Connection, file: string, tables: ExportedTables): Promise<number> {
  let read = 0
  let isWhole = false
  let added: Promise<void>[] = []
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
  const { version, newest } = toSchemaState(Number(schema), tables.schema)
  // Later versions have only added tables, so that the rows of an earlier one fit.
  if (version < 1 || version > newest) throw new Refusal('database.export_version', { file, version, newest })
}

function addRow(
  connection: Connection,
  { table, row }: TableRow,
  file: string,
  { keys }: ExportedTables,
): Promise<void> {
  const columns = Object.keys(row ?? {})
  if (
    !Object.hasOwn(keys, table) ||
    columns.length === 0 ||
    !columns.every((name) => /^[a-z_]+$/.test(name) && isValue(row[name]))
  )
    throw notAnExport(file)
  const { sql } = insertInto(table, columns)
  const values = columns.map((name) => row[name] ?? null)
  const adding = (async () => {
    try {
      await connection.run(sql, ...values)
    } catch (error) {
      if (codeOf(error) === '22021') throw unstorableRow(file, table, row, keys[table])
      throw isRule(error) ? inconsistentExport(file, table) : error
    }
  })()
  // A row may fail after another one has ended the import.
  adding.catch(() => {})
  return adding
}

/** Whether a constraint or trigger refused a row. */
const isRule = (error: unknown): boolean =>
  /^(?:SQLITE_CONSTRAINT|SQLITE_ERROR|22|23|42|P0001)/.test(codeOf(error))

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)

const isValue = (value: unknown): boolean =>
  value === null || typeof value === 'string' || typeof value === 'number'

/** Returns the error for a row that PostgreSQL cannot store; it names the row by its key, without secrets. */
function unstorableRow(
  file: string,
  table: string,
  row: StoredRow,
  columns: readonly string[] | undefined,
): Refusal {
  const key = columns?.filter((name) => name !== 'secret').map((name) => row[name] ?? null)
  return new Refusal('database.nul_in_row', { file, table, key: JSON.stringify(key) })
}

const inconsistentExport = (file: string, table: string): Refusal =>
  new Refusal('database.export_contradicts', { file, table })

const notAnExport = (file: string): Refusal => new Refusal('database.not_export', { file })
