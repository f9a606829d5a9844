import type { ClientBase, Pool, PoolClient, PoolConfig, QueryConfig, QueryResult } from 'pg'
import { ApiError } from '../../../api/calls/errors.js'
import { type Connection, StorageFault, type Value } from '../connection.js'
import type { Session } from '../group-commit.js'
import { postgresDialect } from './dialect.js'
import { bindValues, isConflict, isLost, isUndone, isUnsent, type Prepared } from './errors.js'

/** What begins a transaction, and what takes its result. */
export interface BeginStatement {
  readonly sql: string
  readonly onResult?: ((result: QueryResult | readonly QueryResult[]) => void) | undefined
}

/** How a session uses connections. */
export interface SessionOptions {
  readonly pool: Pool
  readonly prepare: (sql: string) => Prepared
  /** What begins a transaction, with the locks that it needs. */
  readonly begin: () => BeginStatement
  readonly isReadOnly?: boolean
  /** Waits in real time. */
  readonly sleep: (ms: number) => Promise<void>
  /** A number from 0 to 1. */
  readonly chance: () => number
}

/** How often and how long errors that no task caused are retried; the pauses double. */
const mostFailures = 8
const patienceMs = 10_000
const shortestPauseMs = 20
const longestPauseMs = 2_000
/** How long statements that build indexes may take. */
const longMs = 3_600_000

/** One transaction at a time, on a connection of the pool. */
export class PostgresSession implements Session {
  readonly connection: Connection
  readonly isConcurrent: boolean
  readonly #options: SessionOptions
  #client: PoolClient | undefined
  /** Whether the task that runs has written, and how many of its writes have no result yet: they may have. */
  #task = { isDirty: false, unanswered: 0 }
  /** Whether anything was written, or may have been, since the transaction began. */
  #written = false
  /** The first error of the transaction: behind it the server refuses everything, in other words. */
  #broken: { readonly error: unknown; readonly atBegin: boolean } | undefined
  #failingSince = 0

  constructor(options: SessionOptions) {
    this.#options = options
    this.isConcurrent = options.isReadOnly ?? false
    const rows = async <T>(sql: string, values: readonly Value[]) =>
      (await this.#query(sql, values)).rows as unknown as T[]
    this.connection = {
      dialect: postgresDialect,
      known: new Map(),
      get: async <T>(sql: string, ...values: Value[]) => (await rows<T>(sql, values))[0],
      all: <T>(sql: string, ...values: Value[]) => rows<T>(sql, values),
      run: async (sql, ...values) => (await this.#query(sql, values)).rowCount ?? 0,
      send: (sql, ...values) => {
        this.#task.isDirty = true
        // Whatever follows fails with it, COMMIT at the latest.
        this.#query(sql, values).catch(() => {})
      },
      exec: async (sql) => {
        this.#task.isDirty = true
        this.#written = true
        await this.#watch(this.#open().query({ text: sql, query_timeout: longMs } as QueryConfig))
      },
    }
  }

  async begin(): Promise<void> {
    const { pool, begin } = this.#options
    this.connection.known.clear()
    this.#broken = undefined
    this.#written = false
    this.clearDirty()
    this.#client = await pool.connect()
    const { sql, onResult } = begin()
    // Not waited for: the first statement follows at once, and fails with it.
    this.#watch(this.#client.query(sql), true).then(onResult, () => {})
  }

  async commit(): Promise<void> {
    const client = this.#open()
    if (this.#broken) throw this.#broken.error
    if (this.#options.isReadOnly) {
      client.query('COMMIT').catch(() => {})
      return this.#release()
    }
    let ended: QueryResult
    try {
      ended = await client.query('COMMIT')
    } catch (error) {
      // Unless it was certainly undone, the commit may have been done.
      throw !this.#written || isUnsent(error) || isUndone(error) ? error : new StorageFault('commit_unknown')
    }
    // A transaction that has failed is ended by COMMIT too, but undone.
    if (ended.command !== 'COMMIT') throw this.cause(new Error('a transaction was undone'))
    this.#release()
  }

  async rollback(): Promise<void> {
    const client = this.#client
    if (!client) return
    if (this.#broken && isLost(this.#broken.error)) return this.#release(true)
    try {
      await client.query('ROLLBACK')
      this.#release()
    } catch {
      this.#release(true)
    }
  }

  isDirty = (): boolean => this.#task.isDirty || this.#task.unanswered > 0 || this.#broken !== undefined

  clearDirty(): void {
    this.#task = { isDirty: false, unanswered: 0 }
  }

  cause = (error: unknown): unknown => (this.#broken ? this.#broken.error : error)

  retry(error: unknown, failures: number): Promise<boolean> | undefined {
    if (isConflict(error) || isLost(error)) return this.#pause(failures)
    // Locks that did not come in time are no fault of one of the works.
    return this.#broken?.atBegin ? Promise.resolve(false) : undefined
  }

  async #pause(failures: number): Promise<boolean> {
    if (failures === 1) this.#failingSince = performance.now()
    if (failures >= mostFailures || performance.now() - this.#failingSince > patienceMs) return false
    const pause = Math.min(longestPauseMs, shortestPauseMs * 2 ** failures)
    await this.#options.sleep(pause * (0.5 + this.#options.chance()))
    return true
  }

  async #query(sql: string, values: readonly Value[]): Promise<QueryResult> {
    const prepared = this.#options.prepare(sql)
    const { name, text, writes } = prepared
    const task = this.#task
    if (writes) this.#written = true
    if (writes) task.unanswered++
    const query = { text, values: bindValues(values, prepared) as Value[], ...(name ? { name } : {}) }
    const result = await this.#watch(this.#open().query(query))
    if (writes) task.unanswered--
    // What found no row to change has changed nothing that would have to be undone.
    if (writes && result.rowCount) task.isDirty = true
    return result
  }

  #open(): PoolClient {
    if (!this.#client) throw new Error('a statement outside of its transaction')
    return this.#client
  }

  async #watch<T>(answer: Promise<T>, atBegin = false): Promise<T> {
    try {
      return await answer
    } catch (error) {
      this.#broken ??= { error, atBegin }
      throw this.#broken.error
    }
  }

  #release(isLostNow = false): void {
    const client = this.#client
    this.#client = undefined
    client?.release(isLostNow)
  }
}

/** How long a connection may take to come about. */
export const connectMs = 10_000
/** How long a statement or a wait for a lock may last, and a node may stand still within a transaction. */
const statementMs = 30_000
const standstillMs = 15_000
/** Longer than the server's own patience: beyond it the way to the server is cut. */
const answerMs = statementMs + 10_000

/** A node that is cut off does not keep its locks: the server ends its session after a while. */
const session = `
SET statement_timeout = ${statementMs};
SET lock_timeout = 0;
SET default_transaction_isolation = 'read committed';
SET idle_in_transaction_session_timeout = ${standstillMs};
SET tcp_keepalives_idle = 10;
SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 3;
SET client_min_messages = warning;
SET timezone = 'UTC'`

/** Returns an integer. Throws where a number cannot represent it exactly. */
function parseInteger(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is not a safe integer`)
  return number
}

const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => (text === 't' ? 1 : 0)],
  [20, parseInteger],
  [21, Number],
  [23, Number],
  [1700, parseInteger],
  [701, Number],
])

const types = {
  getTypeParser: (oid: number) => parsers.get(oid) ?? ((text: string) => text),
}

/** Returns an address that verifies the server's certificate, as pg does for any of these modes. */
export const withVerifiedTls = (url: string): string =>
  url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')

/** Makes a pool of connections; none is opened yet. Statements may be sent before those before them are answered. */
export async function createPool(url: string, most: number): Promise<Pool> {
  const { Pool: PgPool } = await import('pg')
  const config: PoolConfig & { readonly pipeline: true } = {
    connectionString: withVerifiedTls(url),
    max: most,
    application_name: 'prospect',
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    query_timeout: answerMs,
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: types as unknown as NonNullable<PoolConfig['types']>,
    pipeline: true,
  }
  const pool = new PgPool(config)
  // What a lost connection was doing fails by itself; one that is idle is replaced.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
    client.query(session).catch(() => {})
  })
  return pool
}

/** Changes settings of a connection. Only a lost connection refuses that, and whatever follows on it fails too. */
const configure = async (client: ClientBase, sql: string, values?: string[]): Promise<void> =>
  void (await client.query(sql, values).catch(() => {}))

/** Has a connection find tables in one schema only: the one whose name its locks and calls go by. */
export const setSearchPath = (client: ClientBase, schema: string): Promise<void> =>
  configure(client, "SELECT set_config('search_path', quote_ident($1), false)", [schema])

/** To compile a plan of a search, or to spread it over processes, would take longer than to carry it out. */
const planning = `
SET plan_cache_mode = force_custom_plan;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET random_page_cost = 1.1`

/** Has a connection plan each statement anew. */
export const replan = (client: ClientBase): Promise<void> => configure(client, planning)

/** Refuses a server that would forget what it has confirmed, and a database that cannot hold every text. */
export async function checkServer(client: PoolClient): Promise<void> {
  const settings = await client.query<{ name: string; setting: string }>(
    `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'server_encoding', 'server_version_num', 'synchronous_commit')`,
  )
  const set = new Map(settings.rows.map(({ name, setting }) => [name, setting]))
  const refuse = (reason: string) => new ApiError('storage_failed', { reason })
  if (Number(set.get('server_version_num')) < 140_000) throw refuse('it is older than PostgreSQL 14')
  const encoding = set.get('server_encoding')
  if (encoding !== 'UTF8')
    throw refuse(
      `its encoding is ${encoding}, not UTF8; create another database with: createdb --encoding=UTF8 --template=template0 NAME`,
    )
  for (const name of ['fsync', 'full_page_writes'])
    if (set.get(name) === 'off')
      throw refuse(`its setting ${name} is off, so that a power cut could lose what was paid for; turn it on`)
  if (set.get('synchronous_commit') === 'off')
    throw refuse('its setting synchronous_commit is off for this role; turn it on')
}
