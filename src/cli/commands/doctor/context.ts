import { accessSync, constants, lstatSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reply } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import type { OperationId } from '../../../api/operations/table.js'
import { isObject, resultOr } from '../../../api/values/objects.js'
import { systemCode } from '../../../csv/encoding.js'
import type { Run } from '../../../runs/journal/runs.js'
import type { ReadOnlyDatabase } from '../../../storage/database/database-file.js'
import {
  readStoredNumber,
  type Schema,
  type SchemaState,
  toSchemaState,
} from '../../../storage/database/migrate.js'
import { type Driver, isPostgres } from '../../../storage/driver/connection.js'
import type { Context, Home, Settings } from '../../context/context.js'
import { givenKey } from '../../context/credentials.js'
import { reasonOf as describeReason } from '../../messages.js'
import { type RemoteTarget, targetOf } from '../../target/resolve-target.js'
import { deliveriesPort } from '../../wait/run-remote.js'

/** Everything that the checks read. Tests replace parts of it with something broken. */
export type DoctorContext = ReturnType<typeof createDoctorContext>

export interface Check {
  readonly name: string
  run(context: DoctorContext): Promise<Findings> | Findings
}

/** Creates the context of this machine. It creates and changes nothing. `thorough`: large databases are read through, too. */
export function createDoctorContext(context: Context, thorough: boolean) {
  const { streams, home, clock } = context
  const databases = databasesOf(home, realFiles)
  context.onClose(() => databases.close())
  const settings = () => settingsIn(realFiles, home.config)
  return {
    node: process.versions.node,
    platform: process.platform,
    /** Id of the user; `undefined` on platforms without one. */
    user: process.getuid?.(),
    env: streams.env,
    ...{ home, options: context.globals, clock, databases, thorough },
    files: realFiles,
    /** Returns the version of SQLite. Throws when it cannot be loaded. */
    sqlite: async () => (await import('../../../storage/database/database-file.js')).sqliteVersion(),
    settings,
    /** Returns the chosen target. Throws a `UsageError` with the reason when there is none. */
    target: () => targetOf(context.globals, streams.env, settings() ?? {}),
    /** Returns the key given with the command or in the environment. Throws when its file cannot be used. */
    givenKey: async () => {
      const key = await givenKey(streams, context.globals)
      if (key !== undefined) context.conceal(key)
      return key
    },
    isRunning: async (run: Run) => (await import('../../../runs/records.js')).isRunning(context, run),
    server: (target: RemoteTarget) => openServer(context, target),
    askPublicUrl: (url: string) => askPublicUrl(context, url),
  }
}

/** Returns the settings in a file: empty when it is missing, `undefined` when it cannot be read. */
function settingsIn(files: Files, config: string): Settings | undefined {
  if (!files.entry(config)) return {}
  const value: unknown = resultOr(undefined, () => JSON.parse(files.text(config)))
  return isObject(value) ? value : undefined
}

/** A warning can wait. A problem makes commands fail or costs money. */
type Status = 'ok' | 'warning' | 'problem'

export interface Verdict {
  readonly status: Status
  /** One sentence, without keys and secrets. */
  readonly text: string
  /** What to do, as a command or a sentence; null when nothing is needed. */
  readonly hint: string | null
}

/** What a check found: one result, several, or none when it does not apply. */
export type Findings = Verdict | readonly Verdict[]

const verdict =
  (status: Status) =>
  (text: string, hint: string | null = null): Verdict => ({ status, text, hint })

export const ok = verdict('ok')

export const warning = verdict('warning')

export const problem = verdict('problem')

/** Returns the troubles, or `fine` as the only result when there are none. */
export const orElse = (troubles: readonly Verdict[], fine: string): readonly Verdict[] =>
  troubles.length > 0 ? troubles : [ok(fine)]

/** `home`: it leads to the port for deliveries. `busy`: that port is in use. A number: the status of another server. */
export type PublicUrlAnswer = 'home' | 'busy' | number

/** A server. Requests to it are free and take a few seconds at most. */
export interface CheckedServer {
  /** Requests `/health` without a key. Throws an error with the reason when the server cannot be reached. */
  health(): Promise<ServerAnswer>
  /** Calls a free operation with the key. Throws when there is no key or no answer. */
  call(id: OperationId): Promise<Reply>
}

/** An HTTP response, with header names in lower case. */
export interface ServerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

const timeoutMs = 5_000

function openServer(context: Context, target: RemoteTarget): CheckedServer {
  // Direct, so that the check leaves no trace in the state of this machine.
  const direct = context.withGlobals({ direct: true })
  return {
    health: () => fetchOnce(context, new URL(`${target.baseUrl.replace(/\/api\/v2\/?$/, '')}/health`)),
    call: async (id: OperationId): Promise<Reply> => {
      const apiKey = await direct.apiKey()
      const caller = await direct.caller()
      return await caller.call(id, {}, { apiKey, signal: AbortSignal.timeout(timeoutMs) })
    },
  }
}

/** Requests an address once, without a key. */
async function fetchOnce({ streams, clock, onClose }: Context, url: URL): Promise<ServerAnswer> {
  const { createConnection } = await import('../../../client/connection.js')
  const { proxyOf } = await import('../../../client/connection.js')
  const connection = createConnection({
    base: url,
    proxy: proxyOf(url, streams.env),
    ca: undefined,
    connectMs: timeoutMs,
    answerMs: timeoutMs,
    bodyBytes: 65_536,
    connections: 1,
    now: () => clock.now(),
  })
  onClose(() => connection.close())
  const request = { method: 'GET', path: url.pathname } as const
  const answer = await connection.exchange(
    request,
    { accept: 'application/json' },
    AbortSignal.timeout(timeoutMs),
  )
  return { status: answer.status, headers: answer.headers, text: Buffer.from(answer.body).toString() }
}

export async function askPublicUrl(context: Context, url: string): Promise<PublicUrlAnswer> {
  const { listen } = await import('../../../http/listen.js')
  const { origin, host, pathname } = new URL(url)
  const path = `${pathname.replace(/\/+$/, '')}/${context.ids.uuid()}`
  let came = false
  const handler = async (request: Request) => {
    came ||= path.endsWith(new URL(request.url).pathname)
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  try {
    const place = { host: '127.0.0.1', port: deliveriesPort, allowHosts: [host] }
    const listening = await listen({ handler, ...place })
    try {
      const { status } = await fetchOnce(context, new URL(path, origin))
      return came ? 'home' : status
    } finally {
      await listening.close()
    }
  } catch (error) {
    if (error instanceof Refusal) return 'busy'
    throw error
  }
}

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
