import { type Dialect, send, type Value } from '../connection.js'

/** The dialect of PostgreSQL. */
export const postgresDialect: Dialect = {
  name: 'postgres',
  forUpdate: ' FOR UPDATE',
  forUpdateSkipLocked: ' FOR UPDATE SKIP LOCKED',
  toStorableText: (text) => text.replace(/[\0\p{Surrogate}]/gu, '\ufffd'),
  migrationSql: ({ postgres }) => {
    if (postgres === undefined) throw new Error('a step of this schema has no text for PostgreSQL')
    return `SET LOCAL statement_timeout = 0;${postgres}`
  },
  readSchemaNumber: async (connection) => {
    const table = await connection.get<{ found: number }>(
      "SELECT to_regclass('schema_version') IS NOT NULL AS found",
    )
    if (!table?.found) return 0
    return (await connection.get<{ version: number }>('SELECT version FROM schema_version'))?.version ?? 0
  },
  writeSchemaNumberSql: (stored, privateTables) =>
    `CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
     INSERT INTO schema_version (id, version) VALUES (1, ${stored})
       ON CONFLICT (id) DO UPDATE SET version = excluded.version;
     DO $$ DECLARE own TEXT; BEGIN
       FOR own IN SELECT format('%I.%I', n.nspname, c.relname)
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v')
           AND c.relname IN (${['schema_version', ...privateTables].map((name) => `'${name}'`).join(', ')})
       LOOP EXECUTE 'REVOKE ALL ON ' || own || ' FROM PUBLIC'; END LOOP;
     END $$`,
  insertRows: async (connection, { all }, rows) => {
    await send(connection, all, toJsonRows(rows))
  },
  continueNumbering: async (connection, table, column) => {
    await connection.get(
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), coalesce(max(${column}), 1), count(*) > 0)
       FROM ${table}`,
    )
  },
}

/** Rows as one JSON list; characters that the server cannot store are replaced. */
const toJsonRows = (rows: readonly (readonly Value[])[]): string =>
  JSON.stringify(rows, (_, value: unknown) =>
    typeof value === 'string' ? postgresDialect.toStorableText(value) : value,
  )
