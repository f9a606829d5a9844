import { type Connection, type Driver, mapResult, type StoredRow } from '../../storage/driver/connection.js'
import type { TextTable } from '../full-text/text-query.js'
import { createTokenizer } from '../full-text/tokenizer.js'
import type { CatalogueDialect, CopiedTable, CopyTarget } from './dialect.js'
import { createVectorWriter } from './postgres-search.js'

const analyze = (driver: Driver, tables: readonly string[]): Promise<void> =>
  driver.transaction(async (connection) => {
    await connection.exec(`SET LOCAL statement_timeout = 0; ANALYZE ${tables.join(', ')}`)
  })

/** Bulk loads in PostgreSQL: indexes stay while a table is filled, and the server's settings suit bulk writes. */
export const postgresLoad: CatalogueDialect['load'] = {
  // An index refuses about 2,700 bytes, and whatever is written beside them.
  maxIndexedBytes: 2_000,
  isRemote: true,
  hasDeferredIndexes: () => false,
  deferIndexes: () => {},
  buildIndexesOn: () => {},
  /**
   * Takes a number for a transaction that writes, and returns how many others took one. A transaction that was undone
   * took its number too, and counts as another's.
   */
  countForeignWrites: (connection, own) =>
    mapResult(
      connection.get<{ number: number }>("SELECT nextval('turns') AS number"),
      (turn) => own && (turn?.number ?? 0) - ++own.transactions,
    ),
  // A search that was planned for an empty table may take minutes in a full one. Where ANALYZE fails, the server runs it
  // later by itself, so the failure is no failure of the import.
  endLoad: async (driver, loaded) => {
    if (loaded) await analyze(driver, [...new Set(['companies', ...loaded.tables])]).catch(() => {})
  },
  // The statistics of ANALYZE contain values of rows.
  forgetDeletedRows: analyze,
  beginBulkWrites: async () => ({ restoreMemory: async () => {}, restoreDurability: async () => {} }),
}

/** Constraints and indexes of the catalogue, in an order in which they can be made; the reverse order drops them. */
const builtSql = `
SELECT 'ALTER TABLE ' || conrelid::regclass || ' ADD CONSTRAINT ' || quote_ident(conname) || ' '
    || pg_get_constraintdef(oid) AS make,
  'ALTER TABLE ' || conrelid::regclass || ' DROP CONSTRAINT ' || quote_ident(conname) AS drop,
  CASE contype WHEN 'f' THEN 3 ELSE 1 END AS turn
FROM pg_constraint
WHERE connamespace = CAST(current_schema() AS REGNAMESPACE) AND contype IN ('p', 'u', 'x', 'f')
  AND CAST(conrelid::regclass AS TEXT) IN (SELECT value FROM json_each(?))
UNION ALL
SELECT pg_get_indexdef(indexrelid), 'DROP INDEX ' || indexrelid::regclass, 2
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE c.relnamespace = CAST(current_schema() AS REGNAMESPACE)
  AND c.relname IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)
ORDER BY turn, make`

const roomy = "SET LOCAL maintenance_work_mem = '256MB'"

/** New keys follow the copied ones, imports look everything up again, and the planner has statistics. */
const listFinalStatements = (tables: readonly string[]): string[] => [
  `SELECT setval(pg_get_serial_sequence('technologies', 'key'), coalesce(max(key), 1), count(*) > 0) FROM technologies`,
  "SELECT nextval('turns')",
  ...tables.map((table) => `ANALYZE ${table}`),
]

/** Returns a function that adds many rows by one statement. */
function createAdder(connection: Connection, table: string, { columns, textsOf }: CopiedTable) {
  const names = (textsOf ? [...columns, 'words'] : columns).join(', ')
  const sql = `INSERT INTO ${table} (${names})
    SELECT ${names} FROM json_populate_recordset(CAST(NULL AS ${table}), CAST(? AS JSON))`
  const vector = createVectorWriter(table as TextTable, createTokenizer())
  return (rows: readonly StoredRow[]) => {
    const whole = textsOf ? rows.map((row) => ({ ...row, words: vector(textsOf(String(row.record))) })) : rows
    return connection.run(sql, JSON.stringify(whole))
  }
}

/**
 * Creates the target of a copy. Constraints and indexes are dropped and made again at the end, which takes a fraction of
 * the time. The copy is one transaction, so the catalogue is never visible without them.
 */
function createTarget(connection: Connection, copied: Readonly<Record<string, CopiedTable>>): CopyTarget {
  const names = Object.keys(copied)
  const tables = JSON.stringify(names)
  const adders = new Map(
    Object.entries(copied).map(([name, table]) => [name, createAdder(connection, name, table)]),
  )
  let built: readonly { make: string; drop: string }[] = []
  let underWay: Promise<unknown> = Promise.resolve()
  return {
    async begin() {
      built = await connection.all<{ make: string; drop: string }>(builtSql, tables, tables)
      const dropping = [...built].reverse().map(({ drop }) => drop)
      await connection.exec([roomy, ...dropping].join(';\n'))
    },
    async add(table: string, rows: readonly StoredRow[]) {
      // The next rows are read while these are written.
      const before = underWay
      underWay = Promise.resolve(adders.get(table)?.(rows))
      // The next call, or the end, awaits it and fails with it; until then a failure is not unhandled.
      underWay.catch(() => {})
      await before
    },
    async end() {
      await underWay
      await connection.exec([...built.map(({ make }) => make), ...listFinalStatements(names)].join(';\n'))
    },
  }
}

/** Copies into PostgreSQL. */
export const postgresCopy: CatalogueDialect['copy'] = {
  async listColumns(connection, table) {
    const sql = `SELECT CAST(attname AS TEXT) AS name FROM pg_attribute
      WHERE attrelid = CAST(? AS REGCLASS) AND attnum > 0 AND NOT attisdropped AND attname <> 'words'`
    return (await connection.all<{ name: string }>(sql, table)).map(({ name }) => name)
  },
  waitLonger: async (connection) => {
    await connection.exec(
      'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0',
    )
  },
  createTarget,
}
