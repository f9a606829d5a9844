import { chmodSync, closeSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { ApiError } from '../../../api/calls/errors.js'
import type { Driver } from '../connection.js'
import { CommitQueue, Mutex } from '../group-commit.js'
import { createSession, lazily } from './connection.js'
import { sqliteDialect } from './dialect.js'
import { fromSqliteError, translateErrors } from './errors.js'

/** How a SQLite file is opened. */
export interface SqliteOptions {
  /** Each commit survives a power cut (default). Without it the last ones may be lost, never half written. */
  readonly durable?: boolean
  /** Page cache in KiB (default 8 MiB). */
  readonly cacheKb?: number
  /** Bytes of a page of a new file (default 4,096). Larger ones are cheaper where much is written at once. */
  readonly pageBytes?: number
}

/** Measured over HTTP with 64 and 128 connections: four turns gather nearly all of them, one a third. */
const turnsPerCommit = 4

/**
 * Opens a SQLite database in WAL mode for several processes at once; the file is created readable by its owner
 * only; one without a name is temporary. Reads and transactions take turns on one connection, whose page cache no commit of this process empties.
 * A work that waited for another work of the same database would wait for itself.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): Driver {
  if (!isTemporary(path)) createPrivately(path)
  const database = lazily(() => connect(path, options))
  const mutex = new Mutex()
  const writes = new CommitQueue(createSession(database, 'BEGIN IMMEDIATE'), mutex, turnsPerCommit)
  const reads = new CommitQueue(createSession(database, 'BEGIN'), mutex)
  return {
    dialect: sqliteDialect,
    read: (work) => reads.run(work),
    readShared: (name, work) => reads.share(name, work),
    transaction: (work) => writes.run(work),
    set: (setting) => mutex.runAlone(() => translateErrors(() => database().pragma(setting))),
    flush: async () => {
      if (options.durable === false && !isTemporary(path)) await flushFile(`${path}-wal`)
    },
    requireWritable: async () => {},
    aheadMs: () => 0,
    onWork: () => () => {},
    close: async () => {
      await Promise.all([writes.drain(), reads.drain()])
      database.close()
    },
  }
}

/** Whether a database is in memory, or in a file without a name, which is gone when it is closed. */
const isTemporary = (path: string): boolean => path === ':memory:' || path === ''

/**
 * Refuses SQLite versions that can corrupt a WAL file when several connections write or checkpoint at once
 * (3.7.0 to 3.51.2, fixed in 3.51.3).
 */
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
    // A checkpoint waits for the disk twice; every 16 MiB of log is often enough.
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${options.durable === false ? 'NORMAL' : 'FULL'};
      PRAGMA foreign_keys = ON;
      PRAGMA wal_autocheckpoint = 4000;
      PRAGMA cache_size = -${options.cacheKb ?? 8_192};`)
    return database
  } catch (error) {
    throw fromSqliteError(error)
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
