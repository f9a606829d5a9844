import type { Driver } from './driver.js'
import { type Migration, migrate } from './migrate.js'
import { passedWorkTables } from './passed-work.js'
import { bulkTables, runTables } from './run-schema.js'
import { serverTables } from './server-schema.js'
import { openSqlite, type SqliteOptions } from './sqlite.js'

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

/** What came for one command is read by its path. */
const eventsByPath = 'CREATE INDEX events_path ON events (path, seq);'

/** The schema of `state.db`, what this machine remembers; a new step goes to the end. */
export const stateMigrations: readonly Migration[] = [
  { sqlite: receivedEvents },
  { sqlite: forwardedEvents },
  { sqlite: runTables },
  { sqlite: serverTables },
  { sqlite: eventsByPath },
  { sqlite: bulkTables },
  { sqlite: passedWorkTables },
]

/** Opens `state.db`, bringing its schema up to date. */
export async function openState(path: string, options: SqliteOptions = {}): Promise<Driver> {
  const driver = openSqlite(path, options)
  await migrate(driver, stateMigrations)
  return driver
}
