import { chmodSync, closeSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { ApiError } from '../../../api/calls/errors.js'
import { nextTurn, resultOr } from '../../../api/values/objects.js'
import { type Connection, type Driver, type RowWrite, StorageFault, type Value } from '../connection.js'
import { CommitQueue, Mutex, type Session } from '../group-commit.js'
import { sqliteDialect } from './dialect.js'
import { removeLeftovers } from './partial.js'

export interface SqliteOptions {
  /** Each commit survives a power cut (default). Without it the last ones may be lost, never half written. */
  readonly durable?: boolean
  /** Bytes of a page of a new file (default 4,096). Larger ones are cheaper where much is written at once. */
  readonly pageBytes?: number
}

/** Measured over HTTP with 64 and 128 connections: four turns gather nearly all of them, one a third. */
const turnsPerCommit = 4

/**
 * Opens a SQLite database in WAL mode for several processes at once. The file is created readable by its owner only; one
 * without a name is temporary. Partial copies that killed processes have left beside it are removed. Reads and transactions
 * take turns on one connection, whose page cache no commit of this process empties. A work that waited for another work of the same database would wait for itself.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): Driver {
  if (!isTemporary(path)) {
    createPrivately(path)
    resultOr(undefined, () => removeLeftovers(path))
  }
  return createDriver(
    lazily(() => connect(path, options)),
    async () => {
      if (options.durable === false && !isTemporary(path)) await flushFile(`${path}-wal`)
    },
  )
}

/** Returns the driver of a database; `flush` makes everything that is committed durable. */
export function createDriver(database: LazyDatabase, flush = async () => {}): Driver {
  const mutex = new Mutex()
  const writes = new CommitQueue(createSession(database, 'BEGIN IMMEDIATE'), mutex, turnsPerCommit)
  const reads = new CommitQueue(createSession(database, 'BEGIN'), mutex)
  return {
    dialect: sqliteDialect,
    read: (work) => reads.run(work),
    find: (sql, text) => reads.find(sql, text),
    readShared: (name, work) => reads.share(name, work),
    transaction: (work) => writes.run(work),
    set: (setting) => mutex.runAlone(() => translateErrors(() => database().pragma(setting))),
    flush,
    requireWritable: async () => {},
    onWork: () => () => {},
    close: async () => {
      await Promise.all([writes.drain(), reads.drain()])
      database.close()
    },
  }
}

/** Whether a database is in memory, or in a file without a name, which is gone when it is closed. */
const isTemporary = (path: string): boolean => path === ':memory:' || path === ''

/** Refuses SQLite versions (3.7.0 to 3.51.2) that can corrupt a WAL file when several connections write or checkpoint. */
export function checkVersion(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const number = major * 1_000_000 + minor * 1_000 + patch
  if (number >= 3_007_000 && number < 3_051_003)
    throw new ApiError('storage_failed', {
      reason: `SQLite ${version} can corrupt a shared file; 3.51.3 or newer is needed (reinstall better-sqlite3)`,
    })
}

function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'wx', 0o600))
    chmodSync(path, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new ApiError('storage_failed', { reason: `${path}: ${(error as NodeJS.ErrnoException).code}` })
    if (lstatSync(path).isSymbolicLink())
      throw new ApiError('storage_failed', { reason: `${path} is a symbolic link; give the file itself` })
  }
}

function connect(path: string, options: SqliteOptions): Database.Database {
  try {
    const database = new Database(path, { timeout: 10_000 })
    checkVersion(database.prepare('SELECT sqlite_version()').pluck().get() as string)
    if (options.pageBytes !== undefined) database.pragma(`page_size = ${options.pageBytes}`)
    useLog(database)
    // A checkpoint waits for the disk twice; every 16 MiB of log is often enough. Without a number, the library would take
    // 16 MiB of memory for each database; what needs more, as imports do, sets it.
    database.exec(`
      PRAGMA synchronous = ${options.durable === false ? 'NORMAL' : 'FULL'};
      PRAGMA foreign_keys = ON;
      PRAGMA wal_autocheckpoint = 4000;
      PRAGMA cache_size = -2048;`)
    return database
  } catch (error) {
    throw fromSqliteError(error)
  }
}

/** How long a new file may be changed by others that have just created it, too, in milliseconds. */
const creatingMs = 5_000

/**
 * Sets WAL mode. Of processes that open a new file in the same instant, SQLite refuses those that would wait for each other,
 * whatever their time-out; what one of them has set holds for all.
 */
function useLog(database: Database.Database): void {
  for (let began: number | undefined; ; ) {
    try {
      database.pragma('journal_mode = WAL', { simple: true })
      return
    } catch (error) {
      began ??= performance.now()
      if (!isBusyError(error) || performance.now() - began > creatingMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
    }
  }
}

/** Flushes a log without keeping this thread waiting; what is no longer in it was flushed with the database. */
async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  try {
    await file?.datasync()
  } catch (error) {
    throw new ApiError('storage_failed', { reason: `${path}: ${(error as NodeJS.ErrnoException).code}` })
  } finally {
    await file?.close()
  }
}

/** A database that is opened by its first use. */
interface LazyDatabase {
  (): Database.Database
  close(): void
}

export function lazily(open: () => Database.Database): LazyDatabase {
  let database: Database.Database | undefined
  const get = () => {
    database ??= open()
    return database
  }
  return Object.assign(get, {
    close() {
      database?.close()
    },
  })
}

/** How long another process may hold the database before a request is refused as busy, in milliseconds. */
const timeoutMs = 30_000

/** Returns a session whose transactions start with the statement `begin`. */
function createSession(database: LazyDatabase, begin: string): Session {
  let dirty = false
  const { prepare, statements } = createStatementCache(database)
  const added = new BatchWrites(prepare)
  const prepareFlushed = (sql: string): Database.Statement => {
    added.flush()
    const statement = prepare(sql)
    if (!statement.readonly) dirty = true
    return statement
  }
  const known = new Map<string, unknown>()
  const connection: Connection = {
    dialect: sqliteDialect,
    known,
    get: <T>(sql: string, ...values: Value[]) =>
      translateErrors(() => prepareFlushed(sql).get(...values) as T | undefined),
    all: <T>(sql: string, ...values: Value[]) =>
      translateErrors(() => prepareFlushed(sql).all(...values) as T[]),
    run: (sql, ...values) => translateErrors(() => prepareFlushed(sql).run(...values).changes),
    add: (write, ...values) => {
      dirty = true
      translateErrors(() => added.add(write, values))
    },
    exec: (sql) => {
      dirty = true
      statements.clear()
      translateErrors(() => {
        added.flush()
        database().exec(sql)
      })
    },
  }
  // Tasks run one after the other.
  const task = { connection, isDirty: () => dirty || added.hasFailed }
  return {
    enter: () => {
      dirty = false
      return task
    },
    begin: () => {
      known.clear()
      return beginPatiently(() => prepare(begin).run())
    },
    commit: () =>
      translateErrors(() => {
        added.flush()
        prepare('COMMIT').run()
      }),
    rollback: () => {
      added.clear()
      if (database().inTransaction) prepare('ROLLBACK').run()
    },
  }
}

/** Every mix of filters is a new statement, so their number is limited. */
const maxStatements = 1_000

function createStatementCache(database: LazyDatabase) {
  const statements = new Map<string, Database.Statement>()
  const prepare = (sql: string): Database.Statement => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = database().prepare(sql)
      for (const oldest of statements.keys()) {
        if (statements.size < maxStatements) break
        statements.delete(oldest)
      }
      statements.set(sql, statement)
    }
    return statement
  }
  return { prepare, statements }
}

async function beginPatiently(begin: () => unknown): Promise<undefined> {
  for (let waited = 0; ; ) {
    try {
      begin()
      return
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY' || waited >= timeoutMs)
        throw fromSqliteError(error)
      // The driver has waited its own time-out already; let other work of this process go on in between.
      await nextTurn()
      waited += 10_000
    }
  }
}

/** Rows of one statement: as many large sets as possible, the rest one by one. */
const setSizes = [32, 8, 1] as const

/** Rows that wait at most: so many are written within a few milliseconds. */
const maxPending = 1_000

/** Writes rows of a statement together, in their order: to start and finish a statement takes as long as to write a row. */
class BatchWrites {
  readonly #pending = new Map<RowWrite, Value[]>()
  readonly #texts = new Map<RowWrite, readonly string[]>()
  #rows = 0
  #failure: { readonly error: unknown } | undefined

  constructor(private readonly prepare: (sql: string) => Database.Statement) {}

  add(write: RowWrite, values: readonly Value[]): void {
    const pending = this.#pending.get(write)
    if (pending) for (const value of values) pending.push(value)
    else this.#pending.set(write, [...values])
    if (++this.#rows >= maxPending) this.flush()
  }

  /** Writes the rows, before any other statement. A failure is thrown again each time: it may belong to any of the tasks. */
  flush(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#rows === 0) return
    this.#rows = 0
    try {
      for (const [write, values] of this.#pending) {
        if (values.length === 0) continue
        this.#pending.set(write, [])
        this.#write(write, values)
      }
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Forgets the rows, since their transaction is rolled back. */
  clear(): void {
    this.#rows = 0
    this.#failure = undefined
    this.#pending.clear()
  }

  #write(write: RowWrite, values: readonly Value[]): void {
    const texts = this.#texts.get(write) ?? setSizes.map((size) => write.sqlFor(size))
    this.#texts.set(write, texts)
    let from = 0
    for (const [at, size] of setSizes.entries())
      for (const length = size * write.width; values.length - from >= length; from += length)
        // Values cost a seventh more in a list.
        this.prepare(texts[at] as string).run(...values.slice(from, from + length))
  }
}

/** What the beginning of a code means. `isIntact`: the fault is not of the file, which stays as it is. */
const reasons: Readonly<Record<string, { readonly reason: string; readonly isIntact?: true }>> = {
  SQLITE_FULL: { reason: 'the disk is full', isIntact: true },
  SQLITE_READONLY: { reason: 'the file is read-only; check its permissions', isIntact: true },
  SQLITE_CANTOPEN: { reason: 'the file cannot be opened; check its permissions', isIntact: true },
  SQLITE_IOERR: { reason: 'the disk cannot be read or written', isIntact: true },
  SQLITE_CORRUPT: { reason: 'the file is damaged; restore a backup' },
  SQLITE_NOTADB: { reason: 'the file is not a database' },
}

/** Returns the `ApiError` for an error of SQLite; any other error unchanged. */
export function fromSqliteError(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  if (isBusyError(error)) return new ApiError('busy')
  if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return new StorageFault('already_there')
  const known = Object.keys(reasons).find((name) => code.startsWith(name))
  return known ? new ApiError('storage_failed', reasons[known]) : error
}

/** Whether another connection holds a lock that an operation needs. */
export const isBusyError = (error: unknown): boolean =>
  /^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown } | null)?.code))

/** Runs something with SQLite; throws its errors as an `ApiError` where one fits. */
export function translateErrors<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw fromSqliteError(error)
  }
}
