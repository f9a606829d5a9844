import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { ApiError } from '../../../api/calls/errors.js'
import { dueWork } from '../../../engine/ports/ports.js'
import type { Driver } from '../connection.js'
import { Lane, Turn } from '../group-commit.js'
import { ServerClock, timeSql } from './clock.js'
import { type Beginning, PostgresTrack, type TrackOptions } from './connection.js'
import { postgresDialect } from './dialect.js'
import { reasons, understoodPostgres } from './errors.js'
import { Bell } from './notifications.js'
import { checkServer, createPool, pin, planAnew } from './pool.js'
import { statements } from './translate-sql.js'

/** What a test may give in place of the real world. */
export interface PostgresOptions {
  /** This machine's clock, which may be wrong. */
  readonly now?: () => number
  readonly sleep?: (ms: number) => Promise<void>
  readonly chance?: () => number
  /** Tables of their own beside the engine's: in a schema named after the engine's and this, made where it is missing. */
  readonly beside?: string
  /** Each search is planned for the values that it comes with: one filter leaves a few records, another nearly all. */
  readonly planAnew?: boolean
  /** Lists are arrays, which the schema's functions `texts_in` and `numbers_in` make: the planner knows what is in them. */
  readonly listsAsArrays?: boolean
}

/** Connections of one process: transactions of so many workspaces at once, and so many reads. */
const mostWriters = 5
const mostReaders = 3
/** Works that share a commit at most, and lanes that are kept while they have nothing to do. */
const groupSize = 64
const keptLanes = 256

const readBegin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'
/** A server or role may have other defaults, with which a work would not see what the one before it committed. */
const writeBegin = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'

/**
 * Opens a PostgreSQL database for any number of processes on any number of machines. A transaction first takes the lock
 * of its scope and sees what was committed before; so works of one scope run one after the other, wherever they run, and
 * read nothing that changes under them. Rejects where there is no server, or one that could lose what it confirms.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Driver> {
  const { now = Date.now, sleep = pause, chance = Math.random, beside = '' } = options
  const pools = [await createPool(url, mostReaders), await createPool(url, mostWriters)] as const
  const [readers, writers] = pools
  const close = async () => void (await Promise.all(pools.map((pool) => pool.end())))
  if (options.planAnew) for (const pool of pools) pool.on('connect', (client) => void planAnew(client))
  const schema = await spoken(firstLook(readers, beside)).catch(async (error: unknown) => {
    await close()
    throw error
  })
  for (const pool of pools) pool.on('connect', (client) => void pin(client, schema))
  const clock = new ServerClock(now)
  const common = {
    prepare: statements(options.listsAsArrays),
    sleep: async (ms: number) => void (await sleep(ms)),
    chance,
  }
  const bell = new Bell(url, schema)
  const sharing = readLane({ ...common, pool: readers }, clock)
  const others = Array.from({ length: mostReaders - 1 }, () => readLane({ ...common, pool: readers }, clock))
  const reads = [sharing, ...others]
  const shared = new Lanes((scope) => writeLane({ ...common, pool: writers }, beginOf(schema, scope)))
  return {
    dialect: postgresDialect,
    read: (work) => spoken(leastBusy(reads).run(work)),
    readShared: (name, work) => spoken(sharing.share(name, work)),
    transaction: (work, scope = '') => spoken(shared.of(scope).run(work)),
    set: async () => {},
    flush: async () => {},
    aheadMs: () => clock.aheadMs(),
    onWork: (wake, topic) => bell.listen(wake, topic),
    close: async () => {
      bell.end()
      await Promise.all([...reads, ...shared.all()].map((lane) => lane.drained()))
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

/** The first connection: it tells what kind of server there is, and which schema is ours. */
async function firstLook(pool: Pool, beside: string): Promise<string> {
  const client: PoolClient = await pool.connect()
  try {
    await checkServer(client)
    const { rows } = await client.query<{ name: string | null }>(schemaSql)
    const schema = beside === '' ? (rows[0]?.name ?? '') : nameBeside(rows[0]?.name ?? null, beside)
    if (beside !== '') await makeSchema(client, schema)
    await pin(client, schema)
    return schema
  } finally {
    client.release()
  }
}

/** Bytes of a name; the server cuts off the rest, and two schemas would be one. */
const mostNameBytes = 63

/** The name of a schema of our own. Where the engine has none, nobody would ever find ours again. */
function nameBeside(engine: string | null, beside: string): string {
  const refuse = (reason: string) => new ApiError('storage_failed', { reason })
  if (engine === null) throw refuse(reasons['3F000'])
  const most = mostNameBytes - Buffer.byteLength(beside)
  if (Buffer.byteLength(engine) > most)
    throw refuse(`the name of its schema has more than ${most} bytes, and tables beside it need a longer one`)
  return engine + beside
}

/** Makes a schema of our own, which nobody else has rights to; several processes may do so at once. */
async function makeSchema(client: PoolClient, name: string): Promise<void> {
  const there = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name])
  if (there.rows.length > 0) return
  await client.query(`CREATE SCHEMA "${name.replaceAll('"', '""')}"`).catch((error: unknown) => {
    const code = String((error as { code?: unknown }).code)
    if (code === '42501') throw new ApiError('storage_failed', { reason: mayNotMake(name) })
    if (!['23505', '42P06'].includes(code)) throw error
  })
}

const mayNotMake = (name: string): string =>
  `the role may not make the schema ${name}; the owner of the database runs GRANT CREATE ON DATABASE … TO …, or CREATE SCHEMA "${name}" AUTHORIZATION …`

/** Whether there are tables of our own beside the engine's at an address; nothing is made. */
export async function hasBeside(url: string, beside: string): Promise<boolean> {
  const engine = await openPostgres(url)
  const found = await engine
    .read((reads) => reads.get<object>(besideSql, beside))
    .finally(() => engine.close())
  return found !== undefined
}

const besideSql = 'SELECT 1 AS one FROM pg_namespace WHERE nspname = CAST(current_schema() AS TEXT) || ?'

function readLane(options: Omit<TrackOptions, 'begin'>, clock: ServerClock): Lane {
  const begin = (): Beginning => {
    const answered = clock.ask()
    return { sql: answered ? `${readBegin}; ${timeSql}` : readBegin, answered }
  }
  return new Lane(new PostgresTrack({ ...options, begin, isReadOnly: true }), new Turn(), 1, groupSize)
}

function writeLane(options: Omit<TrackOptions, 'begin'>, sql: string): Lane {
  return new Lane(new PostgresTrack({ ...options, begin: () => ({ sql }) }), new Turn(), 1, groupSize)
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

/** A lane for each scope that is written in; those that rest may go. */
class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #make: (scope: string) => Lane

  constructor(make: (scope: string) => Lane) {
    this.#make = make
  }

  of(scope: string): Lane {
    const known = this.#lanes.get(scope)
    if (known) return known
    if (this.#lanes.size >= keptLanes)
      for (const [name, lane] of this.#lanes) if (lane.isIdle()) this.#lanes.delete(name)
    const made = this.#make(scope)
    this.#lanes.set(scope, made)
    return made
  }

  all(): Lane[] {
    return [...this.#lanes.values()]
  }
}

const leastBusy = (lanes: readonly Lane[]): Lane =>
  lanes.reduce((best, lane) => (lane.load < best.load ? lane : best))

/** What comes of a work; errors of the database come in our own words. */
async function spoken<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw understoodPostgres(error)
  }
}
