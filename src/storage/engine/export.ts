import { closeSync, createReadStream, existsSync, fsyncSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { resultOr } from '../../api/values/objects.js'
import { alreadyExists, create, partialOf, publish } from '../database/backup.js'
import { DatabaseFileError } from '../database/database-file.js'
import { newestVersion, storedNumber, toSchemaState } from '../database/migrate.js'
import {
  type Connection,
  type Driver,
  insertInto,
  readPortions,
  type StoredRow,
} from '../driver/connection.js'
import { isLost } from '../driver/postgres/errors.js'
import { engineSchema, listEngineTables } from './migrations.js'

const format = 'prospect engine'
const engineTables = listEngineTables()
const rowsAtOnce = 500
/** Rows with bodies of requests and replies may be large, so fewer of them are read at once. */
const bodiesAtOnce = 50
const withBodies = ['replies', 'run_replies', 'jobs', 'records', 'list_companies', 'deliveries']

/** A line of an export: its header, a row of a table, or its end. */
type ExportLine =
  | { readonly format: string; readonly schema: number }
  | { readonly table: string; readonly row: StoredRow }
  | { readonly rows: number }

/**
 * Writes a snapshot of an engine's state to a file, as lines of JSON that any database takes. The file is created with mode
 * 0600, gets its name when it is complete and durable, and never replaces another. Returns the number of rows.
 */
export async function exportEngine(driver: Driver, file: string): Promise<number> {
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
    const rows = await driver.read((connection) => onDisk(file, () => writeAll(connection, begin())))
    publish(partial, file)
    return rows
  } finally {
    if (isOurs) rmSync(partial, { force: true })
  }
}

/** Runs something that reads or writes a file. Throws errors of the system as a DatabaseFileError. */
async function onDisk<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // Errors of the connection to a server have the same codes; the driver retries after them.
    if (isLost(error)) throw error
    const { code, syscall } = error as NodeJS.ErrnoException
    if (typeof syscall !== 'string' || !['open', 'read', 'write', 'fsync', 'unlink'].includes(syscall))
      throw error
    throw new DatabaseFileError(`${file} cannot be used (${code}).`, 'Check the path and its permissions.')
  }
}

async function writeAll(connection: Connection, to: number): Promise<number> {
  const write = (line: ExportLine) => writeFileSync(to, `${JSON.stringify(line)}\n`)
  try {
    let written = 0
    write({ format, schema: storedNumber(newestVersion(engineSchema)) })
    for (const [table, key] of Object.entries(engineTables))
      for await (const rows of readPortions(connection, { table, key, limit: limitOf(table) })) {
        for (const row of rows) write({ table, row })
        written += rows.length
      }
    write({ rows: written })
    fsyncSync(to)
    return written
  } finally {
    closeSync(to)
  }
}

const limitOf = (table: string): number => (withBodies.includes(table) ? bodiesAtOnce : rowsAtOnce)

/**
 * Imports an exported state into a database that has no workspace yet, in one transaction. Triggers check every movement
 * against the one before. Returns the number of rows.
 */
export async function importEngine(driver: Driver, file: string): Promise<number> {
  if (!existsSync(file)) throw new DatabaseFileError(`There is no file ${file}.`, 'Check the path.')
  return await driver.transaction(async (connection) => {
    if (await connection.get('SELECT 1 AS one FROM workspaces LIMIT 1'))
      throw new DatabaseFileError(
        'This engine has workspaces already; an export goes into an empty one.',
        'Name another database in PROSPECT_DATABASE_URL, or empty this one first.',
      )
    await connection.run('DELETE FROM clock')
    const rows = await onDisk(file, () => readAll(connection, file))
    await connection.dialect.continueNumbering(connection, 'reply_runs', 'number')
    return rows
  })
}

async function readAll(connection: Connection, file: string): Promise<number> {
  let read = 0
  let isWhole = false
  let added: Promise<void>[] = []
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    const line = lineOf(text, file)
    if (read === 0) checkFirst(line, file)
    else if (isWhole || 'format' in line) throw notAnExport(file)
    if ('table' in line) added.push(addRow(connection, line.table, line.row, file))
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

function checkFirst(line: ExportLine, file: string): void {
  const { format: found, schema } = line as { format?: unknown; schema?: unknown }
  if (found !== format || !Number.isSafeInteger(schema)) throw notAnExport(file)
  const { version, newest } = toSchemaState(Number(schema), engineSchema)
  if (version !== newest)
    throw new DatabaseFileError(
      `${file} has schema version ${version}, this program ${newest}.`,
      'Export it again with the version of prospect that is to read it.',
    )
}

function addRow(connection: Connection, table: string, row: StoredRow, file: string): Promise<void> {
  const columns = Object.keys(row ?? {})
  if (
    !Object.hasOwn(engineTables, table) ||
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
      if (codeOf(error) === '22021') throw unstorableRow(file, table, row)
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
function unstorableRow(file: string, table: string, row: StoredRow): DatabaseFileError {
  const key = engineTables[table]?.filter((name) => name !== 'secret').map((name) => row[name] ?? null)
  return new DatabaseFileError(
    `${file} has a row of ${table} with the character U+0000, which PostgreSQL cannot hold: ${JSON.stringify(key)}. Nothing was changed.`,
    'Remove the character where the row came from, then export again.',
  )
}

const inconsistentExport = (file: string, table: string) =>
  new DatabaseFileError(
    `${file} contradicts itself: a row of ${table} is refused. Nothing was changed.`,
    'Export it again.',
  )

const notAnExport = (file: string) =>
  new DatabaseFileError(
    `${file} is not a whole export of an engine; nothing was changed.`,
    'Give a file that engine export wrote.',
  )
