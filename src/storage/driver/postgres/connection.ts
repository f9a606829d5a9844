import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg'
import { type Connection, StorageFault, type Value } from '../connection.js'
import type { Session } from '../group-commit.js'
import { postgresDialect } from './dialect.js'
import { isConflict, isLost, isUndone, isUnsent } from './errors.js'
import { bindValues, type Prepared } from './translate-sql.js'

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
