import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client, ClientBase, Pool, PoolClient, PoolConfig, QueryResult } from 'pg'
import { ApiError } from '../../../api/calls/errors.js'
import type { Awaitable } from '../../../api/values/objects.js'
import {
  type Connection,
  type Driver,
  dueWork,
  type RowWrite,
  StorageFault,
  type Value,
} from '../connection.js'
import { CommitQueue, Mutex, type Session, type SessionTask } from '../group-commit.js'
import { postgresDialect, ServerClock, timeSql } from './dialect.js'
import {
  bindValues,
  createStatementCache,
  isConflict,
  isLost,
  isSaid,
  isUndone,
  isUnsent,
  type Prepared,
  readOnlyError,
  translateErrors,
} from './errors.js'
import { Hosts } from './hosts.js'
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
  /** How long a connection may stay silent while an answer is waited for. */
  readonly answerMs?: number
  /** Where a session keeps its connection, if a pooler is in between: notifications are listened for there. */
  readonly direct?: string
}

/** Connections of one process. */
const maxWriters = 5
const maxReaders = 3
/** Connections on which short tasks of different scopes share commits. The first takes them all, the next when it is late. */
const sharedWriters = 3
/** When a group counts as late, and what comes goes to the next queue. A search among reads may take long. */
const lateMs = { read: 5, write: 50 }
/** Maximum number of tasks in one commit, and of idle queues that are kept. */
const groupSize = 64
/** Turns of the event loop that a group waits for more tasks: with one, half as many share a commit. */
const turnsPerGroup = 2
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
 * read nothing that changes under them (decision 5). Rejects where there is no server, or one that could lose what it
 * confirms.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Driver> {
  const { now = Date.now, sleep = pause, chance = Math.random, schemaSuffix = '' } = options
  const { answerMs = silenceMs } = options
  const hosts = await Hosts.open(url)
  const pools = [
    createPool(hosts, { max: maxReaders, writes: false, answerMs }),
    createPool(hosts, { max: maxWriters, writes: true, answerMs }),
  ] as const
  const [readers, writers] = pools
  const close = async () => {
    hosts.close()
    await Promise.all(pools.map((pool) => pool.end()))
  }
  const settings = options.replan ? [...session, ...planning] : session
  const { schema, isPooled } = await translateErrors(
    inspectServer(hosts, readers, url, { settings, schemaSuffix }),
  ).catch(async (error: unknown) => {
    await close()
    throw error
  })
  if (!isPooled)
    for (const pool of pools) pool.on('connect', (client) => configureSession(client, settings, schema))
  // A pooler may give each transaction another connection, so that each brings its settings along.
  const perTransaction = isPooled ? `; ${settingsSql(settings, schema, 'LOCAL')}` : ''
  const clock = new ServerClock(now)
  const prepare = createStatementCache(options.listsAsArrays, !isPooled)
  const common = { prepare, sleep, chance, announce: () => announcer.announce() }
  const listening = isPooled ? options.direct : url
  const notifications = createNotifications(listening, schema)
  const announcer = createAnnouncer(() => hosts.connect(readers), schema)
  const reads = Array.from({ length: maxReaders }, () =>
    createQueue({
      ...common,
      connect: () => hosts.connect(readers),
      begin: () => beginReading(clock, perTransaction),
      isReadOnly: true,
      isConcurrent: true,
    }),
  )
  // A queue for each scope of works that are not short, or whose lock another process had; idle ones are dropped when there are many.
  const alone = new Map<string, CommitQueue>()
  const aloneIn = (scope: string) => {
    const known = alone.get(scope)
    if (known) return known
    if (alone.size >= keptQueues) for (const [name, queue] of alone) if (queue.isIdle()) alone.delete(name)
    const sql = beginOf(schema, scope, perTransaction)
    const made = createQueue({ ...common, connect: () => hosts.connect(writers), begin: () => ({ sql }) })
    alone.set(scope, made)
    return made
  }
  const shared = Array.from({ length: sharedWriters }, () =>
    createQueue(
      {
        ...common,
        connect: () => hosts.connect(writers),
        begin: (scopes) => beginTogether(schema, [...scopes], perTransaction),
        isConcurrent: true,
      },
      aloneIn,
    ),
  )
  // A scope stays where its tasks wait, so that they share a commit.
  const places = new Map<string, { readonly queue: CommitQueue; tasks: number }>()
  const write = <T>(
    work: (connection: Connection) => Awaitable<T>,
    scope: string,
    length?: 'short',
  ): Promise<T> => {
    const own = alone.get(scope)
    if (length !== 'short' || (own && !own.isIdle())) return aloneIn(scope).run(work)
    const place = places.get(scope) ?? { queue: inTime(shared, lateMs.write), tasks: 0 }
    places.set(scope, place)
    place.tasks++
    return place.queue.run(work, scope).finally(() => {
      place.tasks--
      if (place.tasks === 0) places.delete(scope)
    })
  }
  return {
    dialect: postgresDialect,
    read: (work) => translateErrors(inTime(reads, lateMs.read).run(work)),
    find: (sql, text) => translateErrors(inTime(reads, lateMs.read).find(sql, text)),
    readShared: (name, work) => translateErrors(inTime(reads, lateMs.read).share(name, work)),
    transaction: (work, scope = '', length) => translateErrors(write(work, scope, length)),
    set: async () => {},
    flush: async () => {},
    requireWritable: () => translateErrors(inTime(reads, lateMs.read).run(requireWritable)),
    aheadMs: () => clock.aheadMs(),
    onWork: notifications.listen,
    close: async () => {
      notifications.end()
      await Promise.all([...reads, ...shared, ...alone.values()].map((queue) => queue.drain()))
      await announcer.end()
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
) AS name, pg_backend_pid() AS pid, current_setting('search_path') AS path`

interface Inspected {
  /** The schema to use. */
  readonly schema: string
  /** Whether a pooler is in between, to whom a session may be worth no more than a transaction. */
  readonly isPooled: boolean
}

/** Checks the server on the first connection. */
async function inspectServer(
  hosts: Hosts,
  pool: Pool,
  url: string,
  { settings, schemaSuffix }: { readonly settings: readonly string[]; readonly schemaSuffix: string },
): Promise<Inspected> {
  const client = await hosts.connect(pool)
  try {
    await checkServer(client)
    const { rows } = await client.query<{ name: string | null; pid: number; path: string }>(schemaSql)
    const { name: engine, pid, path } = rows[0] ?? {}
    // A pooler makes up the number that a client may cancel its statement by.
    const isPooled = pid !== (client as PoolClient & { processID: number }).processID
    if (isPooled) requireSearchPath(url, path ?? '')
    if (!engine) throw new ApiError('storage_failed', { reason: reasons.unusable['3F000'] })
    // There, tables would not be found again, or not be backed up.
    if (/^(?:pg_|information_schema$)/.test(engine))
      throw new ApiError('storage_failed', { reason: reasons.tables.system })
    const schema = schemaSuffix === '' ? engine : schemaNameBeside(engine, schemaSuffix)
    if (schemaSuffix !== '') await createSchema(client, schema)
    if (!isPooled) configureSession(client, settings, schema)
    return { schema, isPooled }
  } finally {
    client.release()
  }
}

/** Throws where a pooler has dropped the schema that the address names: the tables would be made in another one. */
function requireSearchPath(url: string, path: string): void {
  const wanted = /search_path(?:=|%3D)(.+?)(?=$|[&#\s+]|%20)/i.exec(url)?.[1]
  if (wanted !== undefined && decodeURIComponent(wanted).replace(/\s|"/g, '') !== path.replace(/\s|"/g, ''))
    throw new ApiError('storage_failed', { reason: reasons.tables.pooled })
}

/** Bytes of a name; the server cuts off the rest, and two schemas would be one. */
const maxNameBytes = 63

/** Returns the name of a schema beside the engine's. Throws where it would be too long. */
function schemaNameBeside(engine: string, schemaSuffix: string): string {
  const most = maxNameBytes - Buffer.byteLength(schemaSuffix)
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

const standbysSql = `
SELECT CAST(count(*) AS INT) AS standbys, current_setting('synchronous_standby_names') = ''
  OR current_setting('synchronous_commit') IN ('off', 'local') AS late
FROM pg_stat_replication`

/** Returns how many standbys a server has, if what it confirms may be on none of them yet. */
export async function countLateStandbys(driver: Driver): Promise<number> {
  const found = await driver.read((reads) => reads.get<{ standbys: number; late: number }>(standbysSql))
  return found?.late ? found.standbys : 0
}

/** Creates a schema that only its owner may use, unless it is there; several processes may do so at once. */
async function createSchema(client: PoolClient, name: string): Promise<void> {
  const there = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name])
  if (there.rows.length === 0) await makeSchema(name, (sql) => client.query(sql))
}

async function makeSchema(name: string, run: (sql: string) => Promise<unknown>): Promise<void> {
  await run(`CREATE SCHEMA "${name.replaceAll('"', '""')}"`).catch((error: unknown) => {
    const code = String((error as { code?: unknown }).code)
    if (code === '42501')
      throw new ApiError('storage_failed', {
        reason: `the role may not make the schema ${name}; the owner of the database runs GRANT CREATE ON DATABASE … TO …, or CREATE SCHEMA "${name}" AUTHORIZATION …`,
      })
    if (!['23505', '42P06'].includes(code)) throw error
  })
}

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

/**
 * Has the rest of a transaction use the schema beside the engine's, in which nothing else writes until it ends. Returns false
 * where there is none, unless it is created. Without a suffix, it is the engine's own.
 */
export async function enterSchema(
  connection: Connection,
  engine: string,
  suffix: string,
  creates: boolean,
): Promise<boolean> {
  const schema = suffix === '' ? engine : schemaNameBeside(engine, suffix)
  if (!(await connection.get('SELECT 1 AS one FROM pg_namespace WHERE nspname = ?', schema))) {
    if (!creates) return false
    await makeSchema(schema, async (sql) => connection.exec(sql))
  }
  await connection.get("SELECT set_config('search_path', quote_ident(?), TRUE)", schema)
  await connection.get(`SELECT pg_advisory_xact_lock(${lockOf(schema, '')})`)
  return true
}

const createQueue = (options: SessionOptions, elsewhere?: (scope: string) => CommitQueue): CommitQueue =>
  new CommitQueue(new PostgresSession(options), new Mutex(), turnsPerGroup, groupSize, elsewhere)

/** Begins a transaction that reads, and asks for the server's time now and then. */
function beginReading(clock: ServerClock, settings: string): BeginStatement {
  const onResult = clock.ask()
  const begin = readBegin + settings
  return { sql: onResult ? `${begin}; ${timeSql}` : begin, onResult }
}

/**
 * How a transaction begins. One without a scope excludes all others; those of a scope exclude each other. Each takes its
 * locks at once and in one order, so that none waits for one that waits for it.
 */
function beginOf(schema: string, scope: string, settings: string): string {
  const all = lockOf(schema, '')
  const begin = writeBegin + settings
  if (scope === '') return `${begin}; SELECT pg_advisory_xact_lock(${all})`
  const own = scope === dueWork ? '' : `; SELECT pg_advisory_xact_lock(${lockOf(schema, scope)})`
  return `${begin}; SELECT pg_advisory_xact_lock_shared(${all})${own}`
}

/**
 * How a transaction of several scopes begins. It waits for none of them, so that what another process does in one keeps no
 * task of the others waiting: the tasks of that one run elsewhere.
 */
function beginTogether(schema: string, scopes: readonly string[], settings: string): BeginStatement {
  const locks = scopes.map((scope) => lockOf(schema, scope)).join(', ')
  return {
    sql: `${writeBegin}${settings}; SELECT pg_advisory_xact_lock_shared(${lockOf(schema, '')});
SELECT at FROM unnest(CAST(ARRAY[${locks}] AS BIGINT[])) WITH ORDINALITY AS wanted (lock, at)
WHERE NOT pg_try_advisory_xact_lock(lock)`,
    refused: (results) => {
      const rows = results.at(-1)?.rows as readonly { readonly at: number }[]
      return new Set(rows.map(({ at }) => scopes[at - 1] as string))
    },
  }
}

/** Numbers of locks that are kept; those of a busy server's workspaces are taken many times a second. */
const keptLocks = 1_000
const locks = new Map<string, bigint>()

/** The number of a lock: names that have the same one only wait for each other in vain. */
function lockOf(schema: string, scope: string): bigint {
  const name = JSON.stringify(['prospect', schema, scope])
  const known = locks.get(name)
  if (known !== undefined) return known
  const lock = createHash('sha256').update(name).digest().readBigInt64BE()
  if (locks.size >= keptLocks) locks.clear()
  locks.set(name, lock)
  return lock
}

/** Returns the first queue whose group is not late, so that groups are large; if all are, the one with the fewest tasks. */
const inTime = (queues: readonly CommitQueue[], late: number): CommitQueue =>
  queues.find((queue) => queue.runningMs < late) ??
  queues.reduce((best, queue) => (queue.load < best.load ? queue : best))

const minReconnectMs = 500
const maxReconnectMs = 5_000

/** Where new work is announced, with the schema that it is in. */
const channel = 'prospect_work'
const announcePauseMs = 100

/**
 * Announces new work when it is committed, at most ten times a second: each NOTIFY has every commit of the database wait for
 * it, and a worker that wakes looks for all the work there is. Whoever misses one polls.
 */
function createAnnouncer(connect: () => Promise<PoolClient>, schema: string) {
  let pausing: NodeJS.Timeout | undefined
  let isDue = false
  let sending: Promise<void> | undefined
  const send = async () => {
    try {
      const client = await connect()
      await client.query('SELECT pg_notify($1, $2)', [channel, schema]).finally(() => client.release())
    } catch {
      // The work itself is stored.
    }
  }
  const announce = () => {
    isDue = pausing !== undefined
    if (isDue) return
    sending = send()
    pausing = setTimeout(() => {
      pausing = undefined
      if (isDue) announce()
    }, announcePauseMs).unref()
  }
  /** Announces at once what waits for its turn. */
  const end = async () => {
    clearTimeout(pausing)
    if (isDue) sending = Promise.all([sending, send()]).then(() => {})
    await sending
  }
  return { announce, end }
}

/**
 * Listens for notifications on a connection of its own, from the first listener on. After a loss, every listener is called.
 * Without an address there is nothing to listen to, and listeners find out for themselves.
 */
function createNotifications(url: string | undefined, schema: string) {
  const wakes = new Set<() => void>()
  let client: Client | undefined
  let hosts: Hosts | undefined
  let isOpening = false
  const notify = () => {
    for (const wake of wakes) wake()
  }
  const connect = async (): Promise<boolean> => {
    let opened: Client
    try {
      hosts ??= await Hosts.open(url ?? '')
      opened = await hosts.client({
        application_name: 'prospect',
        connectionTimeoutMillis: connectMs,
        keepAlive: true,
        keepAliveInitialDelayMillis: keepAliveMs,
      })
    } catch {
      return false
    }
    opened.on('error', () => {})
    opened.on('end', () => {
      if (client !== opened) return
      client = undefined
      void open()
    })
    opened.on('notification', ({ payload }) => payload === schema && notify())
    try {
      await opened.connect()
      await opened.query(`LISTEN ${channel}`)
    } catch {
      await opened.end().catch(() => {})
      return false
    }
    if (wakes.size === 0) {
      await opened.end().catch(() => {})
      return true
    }
    ;(opened as Client & { unref(): void }).unref()
    client = opened
    notify()
    return true
  }
  const open = async () => {
    if (url === undefined || isOpening || client) return
    isOpening = true
    for (let ms = minReconnectMs; wakes.size > 0; ms = Math.min(maxReconnectMs, 2 * ms)) {
      if (await connect()) break
      // This pause does not keep the process alive.
      await pause(ms, undefined, { ref: false })
    }
    isOpening = false
  }
  const end = () => {
    wakes.clear()
    hosts?.close()
    client?.end().catch(() => {})
    client = undefined
  }
  /** Calls `wake` for each notification; returns a function that stops this. */
  const listen = (wake: () => void) => {
    wakes.add(wake)
    void open()
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0) end()
    }
  }
  return { listen, end }
}

interface BeginStatement {
  readonly sql: string
  readonly onResult?: ((result: QueryResult | readonly QueryResult[]) => void) | undefined
  /** Returns the scopes whose locks other transactions have. Without it, the locks are waited for. */
  readonly refused?: (results: readonly QueryResult[]) => ReadonlySet<string>
}

interface SessionOptions {
  readonly connect: () => Promise<PoolClient>
  readonly prepare: (sql: string) => Prepared
  /** What begins a transaction, with the locks that tasks of these scopes need. */
  readonly begin: (scopes: ReadonlySet<string>) => BeginStatement
  readonly isReadOnly?: boolean
  readonly isConcurrent?: boolean
  /** Waits in real time. */
  readonly sleep: (ms: number) => Promise<void>
  /** A number from 0 to 1. */
  readonly chance: () => number
  /** Tells other processes of new work. */
  readonly announce: () => void
}

/** How often and how long errors that no task caused are retried; the pauses double. */
const maxFailures = 16
const timeoutMs = 10_000
const minPauseMs = 20
const maxPauseMs = 1_000
/** How long statements that build indexes may take. */
const longMs = 3_600_000

/** What a task has written, and how many of its writes have no result yet: they may have. */
interface Written {
  isDirty: boolean
  unanswered: number
}

/** Rows of one INSERT: each number of them is a statement that is prepared once. */
const setSizes = [32, 16, 8, 4, 2, 1] as const

const turnEnd = () => new Promise<void>((resolve) => process.nextTick(resolve))

/** Texts as PostgreSQL reads an array. */
const arrayOf = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/** One transaction at a time, on a connection of the pool. */
export class PostgresSession implements Session {
  readonly isConcurrent: boolean
  readonly #known = new Map<string, unknown>()
  /** Rows that this turn of the event loop asks for, by statement. */
  readonly #asked = new Map<
    string,
    { readonly texts: string[]; readonly rows: Promise<readonly unknown[]> }
  >()
  /** Rows that wait until the turn ends, or the next statement is sent. */
  readonly #added = new Map<RowWrite, Value[]>()
  #client: PoolClient | undefined
  /** Whether anything was written, or may have been, since the transaction began. */
  #written = false
  #announces = false
  /** The first error of the transaction: behind it the server refuses everything, in other words. */
  #broken: { readonly error: unknown; readonly atBegin: boolean } | undefined
  #failingSince = 0

  constructor(private readonly options: SessionOptions) {
    this.isConcurrent = options.isConcurrent ?? false
  }

  enter(): SessionTask {
    const task: Written = { isDirty: false, unanswered: 0 }
    const rows = async <T>(sql: string, values: readonly Value[]) =>
      (await this.#query(sql, values, task)).rows as unknown as T[]
    return {
      connection: {
        dialect: postgresDialect,
        known: this.#known,
        get: async <T>(sql: string, ...values: Value[]) => (await rows<T>(sql, values))[0],
        all: <T>(sql: string, ...values: Value[]) => rows<T>(sql, values),
        find: <T>(sql: string, text: string) => this.#find<T>(sql, text),
        run: async (sql, ...values) => (await this.#query(sql, values, task)).rowCount ?? 0,
        add: (write, ...values) => {
          task.isDirty = true
          this.#add(write, values)
        },
        send: (sql, ...values) => {
          task.isDirty = true
          // Whatever follows fails with it, COMMIT at the latest.
          this.#query(sql, values, task).catch(() => {})
        },
        announce: () => {
          this.#announces = true
        },
        exec: async (sql) => {
          task.isDirty = true
          this.#written = true
          this.#writeAdded()
          await this.#watch(runLong(this.#open(), sql))
        },
      },
      isDirty: () => task.isDirty || task.unanswered > 0 || this.#broken !== undefined,
    }
  }

  async begin(scopes: ReadonlySet<string> = new Set()): Promise<ReadonlySet<string> | undefined> {
    this.#known.clear()
    this.#broken = undefined
    this.#written = false
    this.#announces = false
    this.#client = await this.options.connect()
    const { sql, onResult, refused } = this.options.begin(scopes)
    const begun = this.#watch(this.#open().query(sql), true)
    if (refused) {
      try {
        return refused((await begun) as unknown as readonly QueryResult[])
      } catch (error) {
        // Nothing else ends a transaction that has not begun, and a pool has few connections.
        await this.rollback()
        throw error
      }
    }
    // Not waited for: the first statement follows at once, and fails with it.
    begun.then(onResult, () => {})
    return undefined
  }

  async commit(): Promise<void> {
    if (this.#broken) throw this.#broken.error
    this.#writeAdded()
    const client = this.#open()
    if (this.options.isReadOnly) {
      client.query('COMMIT').catch(() => {})
      return this.#release()
    }
    let ended: QueryResult
    try {
      ended = await client.query('COMMIT')
    } catch (error) {
      // A statement before it that the server refused has undone it, even if the connection ended with that.
      const before = this.cause(undefined)
      if (isSaid(before)) throw before
      // Unless it was certainly undone, the commit may have been done.
      throw !this.#written || isUnsent(error) || isUndone(error) ? error : new StorageFault('commit_unknown')
    }
    // A transaction that has failed is ended by COMMIT too, but undone.
    if (ended.command !== 'COMMIT') throw this.cause(new Error('a transaction was undone'))
    this.#release()
    if (this.#announces) this.options.announce()
  }

  async rollback(): Promise<void> {
    const client = this.#client
    this.#added.clear()
    if (!client) return
    if (this.#broken && isLost(this.#broken.error)) return this.#release(true)
    try {
      await client.query('ROLLBACK')
      this.#release()
    } catch {
      this.#release(true)
    }
  }

  cause = (error: unknown): unknown => (this.#broken ? this.#broken.error : error)

  retry(error: unknown, failures: number): Promise<boolean> | undefined {
    if (isConflict(error) || isLost(error)) return this.#pause(failures)
    // Locks that did not come in time are no fault of one of the works.
    return this.#broken?.atBegin ? Promise.resolve(false) : undefined
  }

  async #pause(failures: number): Promise<boolean> {
    if (failures === 1) this.#failingSince = performance.now()
    if (failures >= maxFailures || performance.now() - this.#failingSince > timeoutMs) return false
    const pause = Math.min(maxPauseMs, minPauseMs * 2 ** failures)
    await this.options.sleep(pause * (0.5 + this.options.chance()))
    return true
  }

  async #query(
    sql: string,
    values: readonly Value[],
    task: Written = { isDirty: false, unanswered: 0 },
  ): Promise<QueryResult> {
    const prepared = this.options.prepare(sql)
    const { name, text, writes } = prepared
    this.#writeAdded()
    if (writes) this.#written = true
    if (writes) task.unanswered++
    const query = { text, values: bindValues(values, prepared) as Value[], ...(name ? { name } : {}) }
    const result = await this.#watch(this.#open().query(query))
    if (writes) task.unanswered--
    // What found no row to change has changed nothing that would have to be undone.
    if (writes && result.rowCount) task.isDirty = true
    return result
  }

  async #find<T>(sql: string, text: string): Promise<T | undefined> {
    const asked = this.#asked.get(sql) ?? this.#askTogether(sql)
    const at = asked.texts.push(text) - 1
    return (await asked.rows)[at] as T | undefined
  }

  #askTogether(sql: string) {
    const texts: string[] = []
    const rows = turnEnd().then(() => {
      this.#asked.delete(sql)
      return this.#findAll(sql, texts)
    })
    const asked = { texts, rows }
    this.#asked.set(sql, asked)
    return asked
  }

  /** Returns the row of each text. */
  async #findAll(sql: string, texts: readonly string[]): Promise<readonly unknown[]> {
    if (texts.length === 1) return (await this.#query(sql, texts)).rows
    const found = `SELECT given.place, found.* FROM unnest(CAST(? AS TEXT[])) WITH ORDINALITY AS given (text, place),
      LATERAL (${sql.replace('?', 'given.text')}) AS found`
    const { rows } = await this.#query(found, [arrayOf(texts)])
    const inOrder: unknown[] = []
    for (const row of rows) inOrder[row.place - 1] = row
    return inOrder
  }

  #add(write: RowWrite, values: readonly Value[]): void {
    const rows = this.#added.get(write)
    if (rows) rows.push(...values)
    else this.#added.set(write, [...values])
    if (!rows && this.#added.size === 1) process.nextTick(() => this.#writeAdded())
  }

  #writeAdded(): void {
    if (this.#added.size === 0) return
    const added = [...this.#added]
    this.#added.clear()
    for (const [write, values] of added)
      for (let from = 0; from < values.length; ) {
        const left = (values.length - from) / write.width
        const size = setSizes.find((each) => each <= left) ?? 1
        const end = from + size * write.width
        // Whatever follows fails with it, COMMIT at the latest.
        this.#query(write.sqlFor(size), values.slice(from, end)).catch(() => {})
        from = end
      }
  }

  #open(): PoolClient {
    if (!this.#client) throw new Error('a statement outside of its transaction')
    joinMessages(this.#client)
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

interface Socket {
  readonly writableCorked: number
  readonly timeout?: number
  cork(): void
  uncork(): void
  on(event: 'timeout', act: () => void): void
  setTimeout(ms: number): void
  destroy(error: Error): void
}

const streamOf = (client: PoolClient): Socket | undefined =>
  (client as PoolClient & { connection?: { stream?: Socket } }).connection?.stream

/** Runs statements that may take long, such as those that build indexes, on a connection that is there. */
async function runLong(client: PoolClient, sql: string): Promise<QueryResult> {
  await client.query('SELECT 1')
  const stream = streamOf(client)
  const usual = stream?.timeout ?? 0
  stream?.setTimeout(longMs)
  return await client.query(sql).finally(() => stream?.setTimeout(usual))
}

/** Has what is sent in the same turn leave together: each message by itself would take a call of the system, and wake the server. */
function joinMessages(client: PoolClient): void {
  const stream = streamOf(client)
  if (!stream || stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** How long a connection may take to come about, and stand idle before the system asks whether it is there. */
export const connectMs = 10_000
const keepAliveMs = 10_000
/** How long a statement or a wait for a lock may last, and a node may stand still within a transaction. */
const statementMs = 30_000
const standstillMs = 15_000
/**
 * Longer than the server's own patience with a statement: beyond it the way to the server is cut. Counted from the last that
 * was heard, since many statements may be on their way, and each waits for those before it.
 */
const silenceMs = statementMs + 10_000

/** A node that is cut off does not keep its locks: the server ends its session after a while. */
const session = [
  `statement_timeout = ${statementMs}`,
  'lock_timeout = 0',
  "default_transaction_isolation = 'read committed'",
  `idle_in_transaction_session_timeout = ${standstillMs}`,
  'tcp_keepalives_idle = 10',
  'tcp_keepalives_interval = 5',
  'tcp_keepalives_count = 3',
  'client_min_messages = warning',
  "timezone = 'UTC'",
]

/** To compile a plan of a search, or to spread it over processes, would take longer than to carry it out. */
const planning = [
  'plan_cache_mode = force_custom_plan',
  'jit = off',
  'max_parallel_workers_per_gather = 0',
  'random_page_cost = 1.1',
]

/** Sets what a connection, or only its transaction, goes by, and the one schema that its locks and calls are named for. */
function settingsSql(settings: readonly string[], schema: string, within: 'SESSION' | 'LOCAL'): string {
  const path = schema.replaceAll('"', '""').replaceAll("'", "''")
  return [...settings, `search_path = "${path}"`].map((setting) => `SET ${within} ${setting}`).join('; ')
}

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

/** Makes a pool of connections; none is opened yet. Statements may be sent before those before them are answered. */
function createPool(
  hosts: Hosts,
  { max, writes, answerMs }: { readonly max: number; readonly writes: boolean; readonly answerMs: number },
): Pool {
  const config: PoolConfig & { readonly pipeline: true } = {
    max,
    application_name: 'prospect',
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    types: types as unknown as NonNullable<PoolConfig['types']>,
    pipeline: true,
  }
  const pool = hosts.pool(config, writes)
  // What a lost connection was doing fails by itself; one that is idle is replaced.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
    // One that is idle is closed sooner.
    const stream = streamOf(client)
    stream?.on('timeout', () => stream.destroy(new Error('Query read timeout')))
    stream?.setTimeout(answerMs)
  })
  return pool
}

/** Only a lost connection refuses its settings, and whatever follows on it fails too. */
const configureSession = (client: ClientBase, settings: readonly string[], schema: string): void =>
  void client.query(settingsSql(settings, schema, 'SESSION')).catch(() => {})

/** Refuses a server that would forget what it has confirmed, and a database that cannot hold every text. */
async function checkServer(client: PoolClient): Promise<void> {
  // The view of all settings takes the server a hundred times as long.
  const names = ['fsync', 'full_page_writes', 'server_encoding', 'server_version_num', 'synchronous_commit']
  const { rows } = await client.query<Record<string, string>>(
    `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`,
  )
  const set = rows[0] ?? {}
  const refuse = (reason: string) => new ApiError('storage_failed', { reason })
  if (Number(set.server_version_num) < 140_000) throw refuse('it is older than PostgreSQL 14')
  const encoding = set.server_encoding
  if (encoding !== 'UTF8')
    throw refuse(
      `its encoding is ${encoding}, not UTF8; create another database with: createdb --encoding=UTF8 --template=template0 NAME`,
    )
  for (const name of ['fsync', 'full_page_writes'])
    if (set[name] === 'off')
      throw refuse(`its setting ${name} is off, so that a power cut could lose what was paid for; turn it on`)
  if (set.synchronous_commit === 'off')
    throw refuse('its setting synchronous_commit is off for this role; turn it on')
}
