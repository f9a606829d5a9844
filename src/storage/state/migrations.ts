import type { Schema } from '../database/migrate.js'
import { fillSql } from '../driver/connection.js'
import { postgresDialect } from '../driver/postgres/dialect.js'
import { sqliteDialect } from '../driver/sqlite/dialect.js'
import tables from './tables.sql'

/**
 * The row of a run is updated with every batch of its rows. PostgreSQL does so in place when the page has room and no index
 * has a changed column, so this index is without its condition.
 */
const runsOnServer = `
DROP INDEX runs_reserved;
CREATE INDEX runs_reserved ON runs (profile);
ALTER TABLE runs SET (fillfactor = 20);
ALTER TABLE spending SET (fillfactor = 50);
`

/** The schema of `state.db`, or of what several machines share in its place. */
export const stateSchema: Schema = {
  first: {
    sqlite: fillSql(tables, { ...sqliteDialect.types }),
    postgres: fillSql(tables, { ...postgresDialect.types }) + runsOnServer,
  },
  steps: [],
  unreleased: 8,
}
