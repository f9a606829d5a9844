import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, Pool, type QueryResult } from 'pg'

const variable = 'PROSPECT_TEST_POSTGRES'
const port = 5432

/**
 * Before the run: creates a folder for the server that its tests share, which the first test that needs it starts, and
 * for their temporary files.
 */
export default function setup(): () => Promise<void> {
  const above = newFolder()
  const temporary = join(above, 'tmp')
  mkdirSync(temporary, { recursive: true })
  process.env[variable] = above
  process.env.TMPDIR = temporary
  return () => stop(above)
}

/** A folder that is not there yet. */
const newFolder = () => join(roomy(), `prospect-pg-${randomBytes(6).toString('hex')}`)

/** Memory where there is enough of it: every commit is flushed, as it is for users, and a disk would take its time. */
function roomy(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize > 2 ** 31 ? '/dev/shm' : tmpdir()
  } catch {
    return tmpdir()
  }
}

async function stop(above: string): Promise<void> {
  try {
    const crashes = crashesIn(readFileSync(join(above, 'server', 'log'), 'utf8'))
    if (crashes.length > 0)
      process.stderr.write(`The PostgreSQL server of the tests crashed meanwhile:\n${crashes.join('\n')}\n`)
    process.kill(Number(readFileSync(join(above, 'pid'), 'utf8')), 'SIGTERM')
    for (let left = 300; left > 0 && existsSync(above); left--) await pause(50)
  } catch {
    // It has ended by itself, or was never started.
  }
  rmSync(above, { recursive: true, force: true })
}

/** What a server's log says of processes that were killed, or gave up: they explain connections that were lost. */
const crashesIn = (log: string): string[] =>
  log.split('\n').filter((line) => /was terminated by (?:signal|exception)|\bPANIC:/.test(line))

/** The folder of the running server's socket. */
async function socket(): Promise<string> {
  const above = process.env[variable]
  if (!above) throw new Error(`${variable} is not set: see globalSetup in vitest.config.ts`)
  const folder = join(above, 'server')
  if (isFirst(join(above, 'started'))) start(above, process.ppid)
  await running(folder)
  return folder
}

/** Starts a server that ends with a process, and notes who looks after it. */
function start(above: string, served: number, settings: readonly string[] = []): void {
  // It runs as somebody else where the tests run as root; its own folder in this one is private.
  chmodSync(above, 0o711)
  const program = fileURLToPath(new URL('postgres-server.js', import.meta.url))
  const args = [program, join(above, 'server'), String(served), ...settings]
  const child = spawn(process.execPath, args, { detached: true, stdio: 'ignore' })
  writeFileSync(join(above, 'pid'), String(child.pid))
  child.unref()
}

async function running(folder: string): Promise<void> {
  for (let left = 1_200; left > 0; left--) {
    if (existsSync(join(folder, 'failed'))) throw new Error(readFileSync(join(folder, 'failed'), 'utf8'))
    if (existsSync(join(folder, `.s.PGSQL.${port}`)) && (await answers(folder))) return
    await pause(50)
  }
  throw new Error('PostgreSQL did not start within a minute')
}

function isFirst(mark: string): boolean {
  try {
    mkdirSync(mark)
    return true
  } catch {
    return false
  }
}

async function answers(folder: string): Promise<boolean> {
  const client = new Client({ host: folder, port, user: 'postgres', database: 'postgres' })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

/** Starts a server of one test's own, which can crash. */
export async function ownServer(above = newFolder(), settings: readonly string[] = []) {
  mkdirSync(above, { recursive: true })
  start(above, process.pid, settings)
  const folder = join(above, 'server')
  await running(folder)
  const sql = (text: string) => asOwner(folder, 'postgres', text)
  const began = async () =>
    String((await sql('SELECT CAST(pg_postmaster_start_time() AS TEXT) AS at'))[0]?.at)
  /** Ends it as a crash would, and resolves when it answers again. */
  const crash = async () => {
    const before = await began()
    process.kill(Number(readFileSync(join(above, 'pid'), 'utf8')), 'SIGUSR2')
    while ((await began().catch(() => before)) === before) await pause(50)
  }
  return {
    folder,
    sql,
    crash,
    url: addressOf(folder, 'postgres'),
    /** Makes it a hot standby, as another server's promotion would, until `SELECT pg_promote()`. */
    demote: async () => {
      writeFileSync(join(folder, 'data', 'standby.signal'), '')
      await crash()
    },
    /** Starts a server that follows this one, which acknowledges nothing from now on that the other one has not kept. */
    synchronousStandby: async () => {
      const other = newFolder()
      await copyData(folder, join(other, 'server'))
      const standby = await ownServer(other, [`primary_conninfo=host=${folder} port=${port} user=postgres`])
      await sql(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
      await sql('SELECT pg_reload_conf()')
      while ((await sql('SELECT sync_state FROM pg_stat_replication'))[0]?.sync_state !== 'sync')
        await pause(50)
      return standby
    },
    stop: () => stop(above),
  }
}

/** Copies the data of a running server, as the beginning of one that follows it. */
async function copyData(from: string, to: string): Promise<void> {
  const client = new Client({ host: from, port, user: 'postgres', database: 'postgres' })
  await client.connect()
  await client.query("SELECT pg_backup_start('standby', true)")
  mkdirSync(to, { recursive: true })
  const data = join(to, 'data')
  // It keeps the owner, who runs the server. A temporary file may go meanwhile, which the server does not miss.
  spawnSync('cp', ['-a', join(from, 'data'), data])
  for (const name of readdirSync(join(data, 'pg_wal'), { withFileTypes: true }))
    if (name.isFile()) rmSync(join(data, 'pg_wal', name.name))
  rmSync(join(data, 'postmaster.pid'))
  const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop()')
  await client.end()
  const { uid, gid } = statSync(data)
  const write = (name: string, text: string) => {
    writeFileSync(join(data, name), text)
    chownSync(join(data, name), uid, gid)
  }
  write('backup_label', String(rows[0].labelfile))
  write('standby.signal', '')
}

/** A place in a real PostgreSQL that nobody else uses. */
export type TestDatabase = Awaited<ReturnType<typeof freshSchema>>

/** A fresh schema, as quick to make as it is to drop. */
export async function freshSchema() {
  const folder = await socket()
  const name = `t_${randomBytes(8).toString('hex')}`
  const sql = (text: string) => inShared(folder, `SET search_path TO ${name}; ${text}`)
  await inShared(folder, `CREATE SCHEMA ${name}`)
  return {
    folder,
    name,
    sql,
    url: addressOf(folder, 'postgres', `&options=${encodeURIComponent(`-c search_path=${name}`)}`),
    drop: async () => {
      await inShared(folder, `DROP SCHEMA IF EXISTS ${name}, ${name}_state, ${name}_catalogue CASCADE`)
    },
  }
}

/** Schemas with tables that are empty again. */
const emptied: TestDatabase[] = []

/** A schema whose tables may be there already, empty, for tests that close what they open in it: to make them takes long. */
export async function emptySchema() {
  const schema = emptied.pop() ?? (await freshSchema())
  const drop = async () => {
    // Not every test makes tables.
    const [made] = await schema.sql("SELECT to_regclass('clock') AS clock")
    if (made?.clock) await emptyEngine(schema)
    emptied.push(schema)
  }
  return { ...schema, drop }
}

/** Deletes all rows of an engine's tables but those that they have from the beginning. */
export const emptyEngine = (schema: TestDatabase) =>
  schema.sql(emptyTables(schema.name) + firstRows.join('\n'))

/** What the engine's tables contain from the beginning. */
const firstRows =
  readFileSync(new URL('../../src/engine/tables/tables.sql', import.meta.url), 'utf8').match(
    /^INSERT INTO .*;$/gm,
  ) ?? []

/**
 * Deletes all rows of schemas whose name begins so, but the version of the schema, and begins every count anew. To
 * truncate takes longer for few rows.
 */
export const emptyTables = (name?: string): string => `
DO $$
DECLARE
  one RECORD;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR one IN SELECT CAST(oid AS regclass) AS name, pg_relation_size(oid) AS bytes FROM pg_class
    WHERE ${schemasOf(name)} AND relkind = 'r' AND relname <> 'schema_version' AND pg_relation_size(oid) > 0
  LOOP
    IF one.bytes > 1000000 THEN EXECUTE 'TRUNCATE ' || one.name || ' CASCADE';
    ELSE EXECUTE 'DELETE FROM ' || one.name;
    END IF;
  END LOOP;
  PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence JOIN pg_class ON oid = seqrelid
    WHERE ${schemasOf(name)};
END $$;
`

const schemasOf = (name?: string) =>
  name === undefined
    ? 'relnamespace = CAST(current_schema() AS regnamespace)'
    : `relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('${name}', '${name}_state', '${name}_catalogue'))`

/** A fresh database, where a schema is not enough; a copy of another one, which nobody uses meanwhile. */
export async function freshDatabase(copied = 'template1') {
  const folder = await socket()
  const name = `t_${randomBytes(8).toString('hex')}`
  await inShared(folder, `CREATE DATABASE ${name} TEMPLATE ${copied}`)
  return {
    folder,
    name,
    sql: (text: string) => asOwner(folder, name, text),
    url: addressOf(folder, name),
    drop: async () => {
      await inShared(folder, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

const addressOf = (folder: string, database: string, more = ''): string =>
  `postgres://postgres@/${database}?host=${encodeURIComponent(folder)}&port=${port}${more}`

/** Connections of this process to the shared server, which take long to make. */
let pool: Pool | undefined

/** Runs statements in the database that the schemas of all tests are in. */
async function inShared(folder: string, text: string) {
  pool ??= new Pool({ host: folder, port, user: 'postgres', database: 'postgres', allowExitOnIdle: true }).on(
    'error',
    () => {},
  )
  return lastRows(await pool.query<Record<string, unknown>>(text))
}

const lastRows = (results: QueryResult<Record<string, unknown>> | QueryResult<Record<string, unknown>>[]) =>
  [results].flat().at(-1)?.rows ?? []

async function asOwner(folder: string, database: string, text: string) {
  const client = new Client({ host: folder, port, user: 'postgres', database })
  // What it was doing fails by itself when the server crashes.
  client.on('error', () => {})
  await client.connect()
  try {
    return lastRows(await client.query<Record<string, unknown>>(text))
  } finally {
    await client.end()
  }
}
