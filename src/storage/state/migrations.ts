import suppressions from '../../suppression/suppressions.sql'
import type { Schema } from '../database/migrate.js'
import { fillSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import members from './members.sql'
import runsOnServer from './postgres.sql'
import runFiles from './run-files.sql'
import sharedTurns from './shared-turns.sql'
import tables from './tables.sql'
import turns from './turns.sql'

const spendingKey = 'PRIMARY KEY (day, profile, target, operation, run, member)'

/** SQLite changes a primary key only with the table. */
const newKeySqlite = `CREATE TABLE spending_new (
  day TEXT NOT NULL,
  profile TEXT NOT NULL,
  target TEXT NOT NULL,
  operation TEXT NOT NULL,
  run INTEGER NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  member TEXT NOT NULL DEFAULT '',
  ${spendingKey}
) WITHOUT ROWID;
INSERT INTO spending_new SELECT * FROM spending;
DROP TABLE spending;
ALTER TABLE spending_new RENAME TO spending;`
const newKeyPostgres = `ALTER TABLE spending DROP CONSTRAINT spending_pkey, ADD ${spendingKey};`

/** The schema of `state.db`, or of what several machines share in its place. */
export const stateSchema: Schema = {
  first: {
    sqlite: fillSql(tables, { ...sqliteDialect.types }),
    postgres: fillSql(tables, { ...postgresDialect.types }) + runsOnServer,
  },
  steps: [
    {
      sqlite: fillSql(runFiles, { ...sqliteDialect.types }),
      postgres: fillSql(runFiles, { ...postgresDialect.types }),
    },
    {
      sqlite: fillSql(turns, { ...sqliteDialect.types }),
      postgres: fillSql(turns, { ...postgresDialect.types }),
    },
    {
      sqlite: fillSql(members, { ...sqliteDialect.types }) + newKeySqlite,
      postgres: fillSql(members, { ...postgresDialect.types }) + newKeyPostgres,
    },
    {
      sqlite: fillSql(sharedTurns, { ...sqliteDialect.types }),
      postgres: fillSql(sharedTurns, { ...postgresDialect.types }),
    },
    {
      sqlite: fillSql(suppressions, { ...sqliteDialect.types }),
      postgres: fillSql(suppressions, { ...postgresDialect.types }),
    },
  ],
  unreleased: 8,
}
