import { accessSync, constants, lstatSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { resultOr } from '../../../api/values/objects.js'
import { systemCode } from '../../../csv/encoding.js'
import type { ReadOnlyDatabase } from '../../../storage/database/database-file.js'
import {
  readStoredNumber,
  type Schema,
  type SchemaState,
  toSchemaState,
} from '../../../storage/database/migrate.js'
import { type Driver, isPostgres } from '../../../storage/driver/connection.js'
import type { Home } from '../../context/context.js'
import { reasonOf as describeReason } from '../../messages.js'

/** A directory entry. A link is not followed. */
export interface DirectoryEntry {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  /** Permission bits. */
  readonly mode: number
  /** User id of the owner. */
  readonly owner: number
  /** Bytes. */
  readonly size: number
  /** When it was last written to, in milliseconds since 1970. */
  readonly writtenAt: number
}

/** Reads the disk; it never writes. */
export interface Files {
  /** Returns `undefined` when there is no such entry. */
  entry(path: string): DirectoryEntry | undefined
  /** Returns the names in a folder; none when it is missing or not readable by this user. */
  names(folder: string): readonly string[]
  /** Throws the system's error when the file cannot be read. */
  text(file: string): string
  isWritable(folder: string): boolean
  /** Returns the kind of a file system, as `statfs` numbers it, and the bytes that may still be written to it. */
  space(folder: string): { readonly type: number; readonly free: number }
}

export const realFiles: Files = {
  entry: (path) => {
    const stats = unlessMissing(() => lstatSync(path))
    if (!stats) return undefined
    const kinds = [
      stats.isFile() && 'file',
      stats.isDirectory() && 'folder',
      stats.isSymbolicLink() && 'link',
    ]
    const kind = (kinds.find(Boolean) || 'other') as DirectoryEntry['kind']
    const { mode, uid: owner, size, mtimeMs: writtenAt } = stats
    return { kind, mode: mode & 0o777, owner, size, writtenAt }
  },
  names: (folder) => unlessMissing(() => readdirSync(folder).sort(), ['EACCES']) ?? [],
  text: (file) => readFileSync(file, 'utf8'),
  isWritable: (folder) =>
    resultOr(false, () => {
      accessSync(folder, constants.W_OK | constants.X_OK)
      return true
    }),
  space: (folder) => {
    const { type, bavail, bsize } = statfsSync(folder)
    return { type: type >>> 0, free: bavail * bsize }
  },
}

function unlessMissing<T>(ask: () => T, others: readonly string[] = []): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', ...others].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

export function nearestFolder(files: Files, path: string): string {
  const above = dirname(path)
  return above === path || files.entry(above) ? above : nearestFolder(files, above)
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function formatSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1_024 ** power
  return `${size < 10 && power > 0 ? size.toFixed(1) : Math.floor(size)} ${units[power]}`
}

export type Name = 'engine' | 'catalogue' | 'state'

type Database =
  | { readonly is: 'missing' | 'elsewhere' }
  | { readonly is: 'unreadable'; readonly reason: string }
  | Served
  | Readable

export type Served =
  | { readonly is: 'unreachable'; readonly reason: string }
  | { readonly is: 'served'; readonly driver: Driver; readonly schema: SchemaState }

/** A database that can be read; only one of this program's version can be asked more than its schema. */
export interface Readable {
  readonly is: 'readable'
  readonly look: ReadOnlyDatabase
  readonly schema: SchemaState
  /** Size in bytes. */
  readonly size: number
}

/** Creates the databases of a home, each opened read-only on first use. */
export function databasesOf(home: Home, files: Files) {
  const found = new Map<Name, Promise<Database>>()
  const find = (name: Name): Promise<Database> => {
    const known = found.get(name) ?? openDatabase(name, home[name], files)
    found.set(name, known)
    return known
  }
  return {
    find,
    /** Returns a database that has the schema of this program; `undefined` otherwise. */
    current: async (name: Name): Promise<Driver | undefined> => {
      const database = await find(name)
      if (!('schema' in database) || database.schema.version !== database.schema.newest) return undefined
      return database.is === 'served' ? database.driver : database.look.driver
    },
    close: async () => {
      for (const database of await Promise.all(found.values()))
        if ('look' in database) await database.look.driver.close()
        else if ('driver' in database) await database.driver.close()
    },
  }
}

export const isFile = (location: string): boolean => location !== ':memory:' && !isPostgres(location)

async function openDatabase(name: Name, location: string, files: Files): Promise<Database> {
  if (isPostgres(location)) return openServed(location)
  if (!isFile(location)) return { is: 'elsewhere' }
  const entry = files.entry(location)
  if (!entry) return { is: 'missing' }
  if (entry.kind !== 'file') return { is: 'unreadable', reason: 'it is not a file' }
  const { openReadOnly } = await import('../../../storage/database/database-file.js')
  let look: ReadOnlyDatabase | undefined
  try {
    look = openReadOnly(location)
    const schema = toSchemaState(await look.schema(), await schemaOf[name]())
    return { is: 'readable', look, schema, size: entry.size }
  } catch (error) {
    await look?.driver.close()
    return { is: 'unreadable', reason: reasonOf(error) }
  }
}

/** Opens a database on a server, which is not changed. */
async function openServed(location: string): Promise<Served> {
  const { openPostgres } = await import('../../../storage/driver/postgres/driver.js')
  try {
    const driver = await openPostgres(location)
    const stored = await driver.read((connection) => readStoredNumber(connection))
    return { is: 'served', driver, schema: toSchemaState(stored, await schemaOf.engine()) }
  } catch (error) {
    return { is: 'unreachable', reason: error instanceof Error ? error.message : String(error) }
  }
}

const schemaOf: Readonly<Record<Name, () => Promise<Schema>>> = {
  engine: async () => (await import('../../../engine/tables/schema.js')).engineSchema,
  catalogue: async () => (await import('../../../catalogue/schema/schema.js')).catalogueSchema,
  state: async () => (await import('../../../storage/state/open.js')).stateSchema,
}

/** Returns the reason of a failure as one line without a final full stop. */
export function reasonOf(error: unknown): string {
  const { reason } = error instanceof Refusal ? error.details : {}
  const [line = ''] = (typeof reason === 'string' ? reason : describeReason(error)).split('\n')
  return line.trim().replace(/\.$/, '')
}
