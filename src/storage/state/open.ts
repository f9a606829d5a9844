import { migrate, prepareDatabase, type Schema } from '../database/migrate.js'
import { openDatabase } from '../database/open.js'
import type { Driver } from '../driver/connection.js'
import { postgresOf } from '../driver/postgres/translate-schema.js'
import type { SqliteOptions } from '../driver/sqlite/driver.js'
import { passedWorkTables } from './proxied-work.js'
import { serverTables } from './remote-servers.js'
import { runLockTables } from './runs/run-leases.js'
import { bulkTables, runsOnServer, runTables } from './runs/runs.js'

const receivedEvents = `
CREATE TABLE receiver_path (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  token TEXT NOT NULL
);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  path TEXT NOT NULL,
  id TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  event TEXT NOT NULL,
  search TEXT,
  verified INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (id, path)
);
CREATE INDEX events_received ON events (received_at);
CREATE INDEX events_search ON events (search, seq) WHERE search IS NOT NULL;
CREATE INDEX events_path ON events (path, seq);
CREATE TABLE gone_events (
  id TEXT NOT NULL,
  path TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id, path)
) WITHOUT ROWID;
CREATE INDEX gone_events_received ON gone_events (received_at);
`

/** Of each lane only the first that waits has a time: the others wait for it. */
const forwardedEvents = `
CREATE TABLE forwards (
  target TEXT NOT NULL,
  seq INTEGER NOT NULL REFERENCES events (seq) ON DELETE CASCADE,
  lane TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  next_at BIGINT,
  answer TEXT,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (target, seq)
) WITHOUT ROWID;
CREATE INDEX forwards_of ON forwards (seq);
CREATE INDEX forwards_due ON forwards (target, next_at) WHERE state = 'waiting' AND next_at IS NOT NULL;
CREATE INDEX forwards_turn ON forwards (target, lane, seq) WHERE state = 'waiting';
`

const tables =
  receivedEvents + forwardedEvents + runTables + serverTables + bulkTables + passedWorkTables + runLockTables

/** The schema of `state.db`: what this machine remembers, or several machines together. */
export const stateSchema: Schema = {
  first: { sqlite: tables, postgres: postgresOf(tables) + runsOnServer },
  steps: [],
  unreleased: 8,
}

/** Where the tables are in a database that an engine may share: beside the engine's. */
const schemaSuffix = '_state'

/** How what is remembered is opened. */
export interface StateOptions extends SqliteOptions {
  /** This machine's clock, which a server's is compared with. */
  readonly now?: () => number
}

/** Opens `state.db`, or what is in its place on a server, by a `postgres://` address; brings its schema up to date. */
export async function openState(location: string, { now, ...sqlite }: StateOptions = {}): Promise<Driver> {
  // Plans made while the tables are empty would read all answers of a run for each one that is looked for.
  const postgres = { schemaSuffix, replan: true, ...(now ? { now } : {}) }
  return prepareDatabase(await openDatabase(location, { sqlite, postgres }), (driver) =>
    migrate(driver, stateSchema),
  )
}

/** Opens what several machines remember at a `postgres://` address; nothing where nobody ever began to. */
export async function findShared(address: string, options: StateOptions = {}): Promise<Driver | undefined> {
  const { hasSchemaBeside } = await import('../driver/postgres/driver.js')
  return (await hasSchemaBeside(address, schemaSuffix)) ? await openState(address, options) : undefined
}
