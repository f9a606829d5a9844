import { migrate, prepareDatabase, type Schema } from '../database/migrate.js'
import { openDatabase } from '../database/open.js'
import type { Driver, TablesSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import type { SqliteOptions } from '../driver/sqlite/driver.js'
import { passedWorkTables } from './proxied-work.js'
import { serverTables } from './remote-servers.js'
import { runLockTables } from './runs/run-leases.js'
import { bulkTables, runsOnServer, runTables } from './runs/runs.js'

const receivedEvents: TablesSql = ({ clustered, identity, integer, text }) => `
CREATE TABLE receiver_path (
  id ${integer} PRIMARY KEY CHECK (id = 1),
  token ${text} NOT NULL
);
CREATE TABLE events (
  seq ${identity},
  path ${text} NOT NULL,
  id ${text} NOT NULL,
  received_at BIGINT NOT NULL,
  event ${text} NOT NULL,
  search ${text},
  verified ${integer} NOT NULL,
  headers ${text} NOT NULL,
  body ${text} NOT NULL,
  UNIQUE (id, path)
);
CREATE INDEX events_received ON events (received_at);
CREATE INDEX events_search ON events (search, seq) WHERE search IS NOT NULL;
CREATE INDEX events_path ON events (path, seq);
CREATE TABLE gone_events (
  id ${text} NOT NULL,
  path ${text} NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id, path)
)${clustered};
CREATE INDEX gone_events_received ON gone_events (received_at);
`

/** Of each lane only the first that waits has a time: the others wait for it. */
const forwardedEvents: TablesSql = ({ clustered, integer, text }) => `
CREATE TABLE forwards (
  target ${text} NOT NULL,
  seq ${integer} NOT NULL REFERENCES events (seq) ON DELETE CASCADE,
  lane ${text} NOT NULL,
  state ${text} NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts ${integer} NOT NULL,
  next_at BIGINT,
  answer ${text},
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (target, seq)
)${clustered};
CREATE INDEX forwards_of ON forwards (seq);
CREATE INDEX forwards_due ON forwards (target, next_at) WHERE state = 'waiting' AND next_at IS NOT NULL;
CREATE INDEX forwards_turn ON forwards (target, lane, seq) WHERE state = 'waiting';
`

const tables: TablesSql = (types) =>
  [receivedEvents, forwardedEvents, runTables, serverTables, bulkTables, passedWorkTables, runLockTables]
    .map((part) => part(types))
    .join('')

/** The schema of `state.db`: what this machine remembers, or several machines together. */
export const stateSchema: Schema = {
  first: { sqlite: tables(sqliteDialect.types), postgres: tables(postgresDialect.types) + runsOnServer },
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
