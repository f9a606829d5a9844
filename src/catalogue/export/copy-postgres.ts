import type { Connection } from '../../storage/driver/connection.js'
import { vectorsOf } from '../full-text/postgres.js'
import type { TextTable } from '../full-text/text-columns.js'
import { wordsOfTexts } from '../full-text/tokenizer.js'
import {
  type ColumnType,
  type CopiedRow,
  type CopyTarget,
  copiedTables,
  textsOfRecord,
} from './copied-tables.js'

const types: Readonly<Record<ColumnType, string>> = {
  whole: 'BIGINT',
  number: 'DOUBLE PRECISION',
  text: 'TEXT',
}

/** Rules and indexes of the catalogue, in an order in which they can be made; the reverse of it takes them away. */
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

/**
 * Writes a copy into PostgreSQL. Rules and indexes are put aside and made of the whole, which takes a fraction of the time;
 * nobody sees the catalogue without them, since nobody sees it before it is complete.
 */
export function copyIntoPostgres(connection: Connection): CopyTarget {
  const tables = JSON.stringify(Object.keys(copiedTables))
  const adding = new Map(Object.keys(copiedTables).map((table) => [table, adder(connection, table)]))
  let built: readonly { make: string; drop: string }[] = []
  let underWay: Promise<unknown> = Promise.resolve()
  return {
    async begin() {
      built = await connection.all<{ make: string; drop: string }>(builtSql, tables, tables)
      const dropping = [...built].reverse().map(({ drop }) => drop)
      await connection.exec([roomy, ...dropping].join(';\n'))
    },
    async add(table, rows) {
      // The next rows are read while these are written.
      const before = underWay
      underWay = Promise.resolve(adding.get(table)?.(rows))
      // Who comes next, or the end, waits for it: until then nobody else hears that it failed.
      underWay.catch(() => {})
      await before
    },
    async end() {
      await underWay
      await connection.exec([...built.map(({ make }) => make), ...endings].join(';\n'))
    },
  }
}

const roomy = "SET LOCAL maintenance_work_mem = '256MB'"

/** Keys go on behind those that were copied, whoever imports looks again, and searches know what is usual. */
const endings = [
  `SELECT setval(pg_get_serial_sequence('technologies', 'key'), coalesce(max(key), 1), count(*) > 0) FROM technologies`,
  "SELECT nextval('turns')",
  ...Object.keys(copiedTables).map((table) => `ANALYZE ${table}`),
]

/** Adds many rows by one statement. */
function adder(connection: Connection, table: string): (rows: readonly CopiedRow[]) => unknown {
  const columns = Object.entries(copiedTables[table]?.columns ?? {})
  const textsOf = textsOfRecord[table as TextTable]
  const typed = columns.map(([name, type]) => `${name} ${types[type]}`)
  const names = columns.map(([name]) => name)
  if (!textsOf) {
    const sql = insertion(table, names, typed)
    return (rows) => connection.run(sql, JSON.stringify(rows))
  }
  const sql = insertion(table, [...names, 'words'], [...typed, 'words TSVECTOR'])
  const vector = vectorsOf(table as TextTable, wordsOfTexts())
  return (rows) => {
    const whole = rows.map((row) => ({ ...row, words: vector(textsOf(String(row.record))) }))
    return connection.run(sql, JSON.stringify(whole))
  }
}

const insertion = (table: string, names: readonly string[], typed: readonly string[]): string =>
  `INSERT INTO ${table} (${names.join(', ')})
    SELECT ${names.join(', ')} FROM json_to_recordset(CAST(? AS JSON)) AS rows (${typed.join(', ')})`
