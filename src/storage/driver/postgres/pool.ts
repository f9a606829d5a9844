import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import { ApiError } from '../../../api/calls/errors.js'

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
