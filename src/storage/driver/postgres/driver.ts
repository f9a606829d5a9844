import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client, Pool, PoolClient } from 'pg'
import { ApiError } from '../../../api/calls/errors.js'
import { type Connection, type Driver, dueWork } from '../connection.js'
import { CommitQueue, Mutex } from '../group-commit.js'
import {
  type BeginStatement,
  checkServer,
  connectMs,
  createPool,
  PostgresSession,
  replan,
  type SessionOptions,
  setSearchPath,
  withVerifiedTls,
} from './connection.js'
import { postgresDialect, ServerClock, timeSql } from './dialect.js'
import { createStatementCache, readOnlyError, translateErrors } from './errors.js'
import reasons from './reasons.json' with { type: 'json' }

/** How a PostgreSQL database is opened; tests replace the clock, pauses and chance. */
export interface PostgresOptions {
  /** This machine's clock, which may be wrong. */
  readonly now?: () => number
  readonly sleep?: (ms: number) => Promise<void>
  readonly chance?: () => number
  /** Puts the tables into a schema named after the engine's plus this suffix, created when missing. */
  readonly schemaSuffix?: string
  /** Plans each search for its values: one filter leaves a few records, another nearly all. */
  readonly replan?: boolean
  /** Passes lists as arrays made by the schema's `texts_in` and `numbers_in`, so that the planner knows their values. */
  readonly listsAsArrays?: boolean
}

/** Connections of one process. */
const mostWriters = 5
const mostReaders = 3
/** Maximum number of tasks in one commit, and of idle queues that are kept. */
const groupSize = 64
const keptQueues = 256

const readBegin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'
/**
 * The level is explicit, because at others a task might not see what the one before it committed. READ WRITE is not: it
 * would fail on a standby in words of its own, and write where the owner of the server wants nothing written.
 */
const writeBegin = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/**
 * Opens a PostgreSQL database for any number of processes on any number of machines. A transaction first takes the lock
 * of its scope and sees what was committed before; so works of one scope run one after the other, wherever they run, and
 * read nothing that changes under them. Rejects where there is no server, or one that could lose what it confirms.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Driver> {
  const { now = Date.now, sleep = pause, chance = Math.random, schemaSuffix = '' } = options
  const pools = [await createPool(url, mostReaders), await createPool(url, mostWriters)] as const
  const [readers, writers] = pools
  const close = async () => void (await Promise.all(pools.map((pool) => pool.end())))
  if (options.replan) for (const pool of pools) pool.on('connect', (client) => void replan(client))
  const schema = await translateErrors(inspectServer(readers, schemaSuffix)).catch(async (error: unknown) => {
    await close()
    throw error
  })
  for (const pool of pools) pool.on('connect', (client) => void setSearchPath(client, schema))
  const clock = new ServerClock(now)
  const common = {
    prepare: createStatementCache(options.listsAsArrays),
    sleep: async (ms: number) => void (await sleep(ms)),
    chance,
  }
  const notifications = new Notifications(url, schema)
  const createReads = () =>
    createQueue({ ...common, pool: readers, begin: () => beginReading(clock), isReadOnly: true })
  const sharing = createReads()
  const reads = [sharing, ...Array.from({ length: mostReaders - 1 }, createReads)]
  // One queue for each scope that is written in; idle ones are dropped when there are many.
  const writes = new Map<string, CommitQueue>()
  const writesOf = (scope: string) => {
    const known = writes.get(scope)
    if (known) return known
    if (writes.size >= keptQueues) for (const [name, queue] of writes) if (queue.isIdle()) writes.delete(name)
    const sql = beginOf(schema, scope)
    const made = createQueue({ ...common, pool: writers, begin: () => ({ sql }) })
    writes.set(scope, made)
    return made
  }
  return {
    dialect: postgresDialect,
    read: (work) => translateErrors(leastBusy(reads).run(work)),
    get: (sql, ...values) =>
      translateErrors(
        sharing.share([sql, ...values].join('\0'), (connection) => connection.get(sql, ...values)),
      ),
    readShared: (name, work) => translateErrors(sharing.share(name, work)),
    transaction: (work, scope = '') => translateErrors(writesOf(scope).run(work)),
    set: async () => {},
    flush: async () => {},
    requireWritable: () => translateErrors(leastBusy(reads).run(requireWritable)),
    aheadMs: () => clock.aheadMs(),
    onWork: (wake, topic) => notifications.listen(wake, topic),
    close: async () => {
      notifications.end()
      await Promise.all([...reads, ...writes.values()].map((queue) => queue.drain()))
      await close()
    },
  }
}

/** Where the tables are, or will be. Found by the search path, they may lie behind a schema that came later. */
const schemaSql = `
SELECT coalesce(
  (SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.oid = to_regclass('schema_version')),
  current_schema()
) AS name`

/** Checks the server on the first connection and returns the schema to use. */
async function inspectServer(pool: Pool, schemaSuffix: string): Promise<string> {
  const client: PoolClient = await pool.connect()
  try {
    await checkServer(client)
    const { rows } = await client.query<{ name: string | null }>(schemaSql)
    const engine = rows[0]?.name
    if (!engine) throw new ApiError('storage_failed', { reason: reasons.unusable['3F000'] })
    // There, tables would not be found again, or not be backed up.
    if (/^(?:pg_|information_schema$)/.test(engine))
      throw new ApiError('storage_failed', { reason: reasons.tables.system })
    const schema = schemaSuffix === '' ? engine : schemaNameBeside(engine, schemaSuffix)
    if (schemaSuffix !== '') await createSchema(client, schema)
    await setSearchPath(client, schema)
    return schema
  } finally {
    client.release()
  }
}

/** Bytes of a name; the server cuts off the rest, and two schemas would be one. */
const mostNameBytes = 63

/** Returns the name of a schema beside the engine's. Throws where it would be too long. */
function schemaNameBeside(engine: string, schemaSuffix: string): string {
  const most = mostNameBytes - Buffer.byteLength(schemaSuffix)
  if (Buffer.byteLength(engine) > most)
    throw new ApiError('storage_failed', {
      reason: `the name of its schema has more than ${most} bytes, and tables beside it need a longer one`,
    })
  return engine + schemaSuffix
}

const writabilitySql = `
SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') = 'on' AS setting`

/** Throws where the server permits no writes, by the conditions of libpq's \`target_session_attrs\`. */
async function requireWritable(connection: Connection): Promise<void> {
  const refuses = await connection.get<{ standby: number; setting: number }>(writabilitySql)
  if (refuses?.standby) throw readOnlyError('standby')
  if (refuses?.setting) throw readOnlyError('setting')
}

/** Creates a schema that only its owner may use; several processes may do so at once. */
async function createSchema(client: PoolClient, name: string): Promise<void> {
  const there = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name])
  if (there.rows.length > 0) return
  await client.query(`CREATE SCHEMA "${name.replaceAll('"', '""')}"`).catch((error: unknown) => {
    const code = String((error as { code?: unknown }).code)
    if (code === '42501') throw new ApiError('storage_failed', { reason: cannotCreateSchema(name) })
    if (!['23505', '42P06'].includes(code)) throw error
  })
}

const cannotCreateSchema = (name: string): string =>
  `the role may not make the schema ${name}; the owner of the database runs GRANT CREATE ON DATABASE … TO …, or CREATE SCHEMA "${name}" AUTHORIZATION …`

/** Returns whether the schema beside the engine's exists; creates nothing. */
export async function hasSchemaBeside(url: string, schemaSuffix: string): Promise<boolean> {
  const engine = await openPostgres(url)
  const found = await engine
    .read((reads) => reads.get<object>(schemaBesideSql, schemaSuffix))
    .finally(() => engine.close())
  return found !== undefined
}

const schemaBesideSql =
  'SELECT 1 AS one FROM pg_namespace WHERE nspname = CAST(current_schema() AS TEXT) || ?'

const createQueue = (options: SessionOptions): CommitQueue =>
  new CommitQueue(new PostgresSession(options), new Mutex(), 1, groupSize)

/** Begins a transaction that reads, and asks for the server's time now and then. */
function beginReading(clock: ServerClock): BeginStatement {
  const onResult = clock.ask()
  return { sql: onResult ? `${readBegin}; ${timeSql}` : readBegin, onResult }
}

/**
 * How a transaction begins. One without a scope excludes all others; those of a scope exclude each other. Each takes its
 * locks at once and in one order, so that none waits for one that waits for it.
 */
function beginOf(schema: string, scope: string): string {
  const all = lockOf(schema, '')
  if (scope === '') return `${writeBegin}; SELECT pg_advisory_xact_lock(${all})`
  const own = scope === dueWork ? '' : `; SELECT pg_advisory_xact_lock(${lockOf(schema, scope)})`
  return `${writeBegin}; SELECT pg_advisory_xact_lock_shared(${all})${own}`
}

/** The number of a lock: names that have the same one only wait for each other in vain. */
const lockOf = (schema: string, scope: string): bigint =>
  createHash('sha256')
    .update(JSON.stringify(['prospect', schema, scope]))
    .digest()
    .readBigInt64BE()

const leastBusy = (queues: readonly CommitQueue[]): CommitQueue =>
  queues.reduce((best, queue) => (queue.load < best.load ? queue : best))

const shortestPauseMs = 500
const longestPauseMs = 30_000

/**
 * Listens for notifications of other processes on a separate connection, opened for the first listener. While the
 * connection is lost, notifications are missed; once it is back, every listener is called.
 */
class Notifications {
  readonly #url: string
  readonly #schema: string
  /** Listeners with their topics. */
  readonly #wakes = new Map<() => void, string>()
  #client: Client | undefined
  #isOpening = false

  constructor(url: string, schema: string) {
    this.#url = url
    this.#schema = schema
  }

  /** Calls `wake` for each notification of a topic (default: accepted jobs); returns a function that stops this. */
  listen(wake: () => void, topic?: string): () => void {
    this.#wakes.set(wake, topic === undefined ? this.#schema : `${this.#schema} ${topic}`)
    void this.#open()
    return () => {
      this.#wakes.delete(wake)
      if (this.#wakes.size === 0) this.end()
    }
  }

  end(): void {
    this.#wakes.clear()
    this.#client?.end().catch(() => {})
    this.#client = undefined
  }

  async #open(): Promise<void> {
    if (this.#isOpening || this.#client) return
    this.#isOpening = true
    for (let ms = shortestPauseMs; this.#wakes.size > 0; ms = Math.min(longestPauseMs, 2 * ms)) {
      if (await this.#connect()) break
      // This pause does not keep the process alive.
      await pause(ms, undefined, { ref: false })
    }
    this.#isOpening = false
  }

  async #connect(): Promise<boolean> {
    const { Client: PgClient } = await import('pg')
    const client = new PgClient({
      connectionString: withVerifiedTls(this.#url),
      application_name: 'prospect',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    })
    client.on('error', () => {})
    client.on('end', () => this.#lost(client))
    client.on('notification', ({ payload }) => this.#notify(payload))
    try {
      await client.connect()
      await client.query('LISTEN prospect_work')
    } catch {
      await client.end().catch(() => {})
      return false
    }
    if (this.#wakes.size === 0) {
      await client.end().catch(() => {})
      return true
    }
    ;(client as Client & { unref(): void }).unref()
    this.#client = client
    this.#notify()
    return true
  }

  #lost(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    void this.#open()
  }

  #notify(payload?: string): void {
    for (const [wake, topic] of this.#wakes) if (payload === undefined || payload === topic) wake()
  }
}
