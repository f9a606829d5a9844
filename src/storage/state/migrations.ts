import type { Schema } from '../database/migrate.js'
import { fillSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import runsOnServer from './postgres.sql'
import runFiles from './run-files.sql'
import tables from './tables.sql'
import turns from './turns.sql'

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
  ],
  unreleased: 8,
}
