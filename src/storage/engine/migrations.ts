import type { Schema } from '../database/migrate.js'
import { fillSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import postgresTriggers from '../driver/postgres/engine-triggers.sql'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import sqliteTriggers from '../driver/sqlite/engine-triggers.sql'
import tables from './tables.sql'

/** Finds the oldest job of each workspace in turn. */
const jobsDue =
  "CREATE INDEX jobs_due ON jobs (workspace_id, created_at, id) WHERE state IN ('queued', 'running');"

/** The tables of the engine, each after those that it refers to, with the columns that identify its rows. */
export const engineTables: Readonly<Record<string, readonly string[]>> = {
  clock: ['id'],
  workspaces: ['id'],
  members: ['id'],
  keys: ['id'],
  movements: ['workspace_id', 'seq'],
  counters: ['owner', 'name'],
  replies: ['workspace_id', 'key'],
  reply_runs: ['number'],
  run_replies: ['place'],
  personas: ['id'],
  cursor_secrets: ['workspace_id'],
  jobs: ['id'],
  records: ['job_id', 'ordinal'],
  enrichments: ['id'],
  lists: ['id'],
  list_companies: ['list_id', 'ordinal'],
  deliveries: ['id'],
  signing_secrets: ['workspace_id', 'secret'],
  chunk_runs: ['run'],
  chunks: ['id'],
  chunk_workers: ['id'],
}

/** Builds before the first release had an index that goes through the jobs of all workspaces together. */
const fromUnreleased = `DROP INDEX jobs_due;${jobsDue}`

/** The schema of the engine's state. */
export const engineSchema: Schema = {
  first: {
    sqlite: fillSql(tables, { ...sqliteDialect.types, jobsDue }) + sqliteTriggers,
    postgres: fillSql(tables, { ...postgresDialect.types, jobsDue }) + postgresTriggers,
  },
  steps: [],
  unreleased: 5,
  fromUnreleased: { sqlite: fromUnreleased, postgres: fromUnreleased },
  privateTables: [...Object.keys(engineTables), 'entries'],
}
