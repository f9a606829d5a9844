import {
  type Connection,
  type Driver,
  insertInto,
  send,
  type Value,
} from '../../storage/driver/connection.js'
import { type Condition, type Texts, type TextTable, textColumns } from '../full-text/keyword.js'
import type { BulkLoading, CatalogueDialect, Loaded } from './dialect.js'

// The words of a table stand in an FTS5 table of their own, such as `people_text`, under the row's key.

const textStatement = (verb: string, table: TextTable): string =>
  `${verb} INTO ${table}_text (rowid, ${textColumns[table].join(', ')})
    VALUES (?${textColumns[table].map(() => ', ?').join('')})`

/** The statements that add the texts of a row, by table. */
const addTexts: Readonly<Record<TextTable, string>> = {
  companies: textStatement('INSERT', 'companies'),
  people: textStatement('INSERT', 'people'),
  jobs: textStatement('INSERT', 'jobs'),
}

export const sqliteTexts: CatalogueDialect['texts'] = {
  // Few rows are cheaper to look up one by one.
  matchTexts(table, { texts, negated }, selectivity) {
    const matches = `FROM ${table}_text WHERE ${table}_text MATCH ?`
    const sql =
      selectivity === 'few'
        ? `EXISTS (SELECT 1 ${matches} AND rowid = key)`
        : `key IN (SELECT rowid ${matches})`
    return [negated ? `NOT ${sql}` : sql, toFts5(texts)]
  },
  createRowInserter(table, columns) {
    const { sql: insert } = insertInto(table, [...columns, 'key'])
    return ({ connection }, key, values, texts) => {
      connection.run(insert, ...values, key)
      connection.run(addTexts[table], key, ...texts)
    }
  },
  replaceTexts({ connection }, table, key, texts) {
    send(connection, textStatement('INSERT OR REPLACE', table), key, ...texts)
  },
  async deleteTexts(connection, table, keys) {
    for (const key of keys) await connection.run(`DELETE FROM ${table}_text WHERE rowid = ?`, key)
  },
}

export function toFts5(texts: Texts): string {
  if ('phrase' in texts) return quote(texts.phrase)
  if ('beginning' in texts) return `^ ${quote(texts.beginning)}`
  if ('all' in texts) return `(${texts.all.map(toFts5).join(' AND ')})`
  if ('any' in texts) return `(${texts.any.map(toFts5).join(' OR ')})`
  if ('held' in texts) return `(${toFts5(texts.held)} NOT ${toFts5(texts.butNot)})`
  return `({${texts.columns.join(' ')}} : ${toFts5(texts.hold)})`
}

const quote = (words: string): string => `"${words.replaceAll('"', '""')}"`

const presentIndexes = `SELECT count(*) AS count FROM sqlite_schema
  WHERE type = 'index' AND name IN (SELECT value FROM json_each(?))`

export const sqliteSearch: CatalogueDialect['search'] = {
  // The condition that finds fewest comes first: words, then employers. Many are read from the index of facts.
  peoplePath(text, staff) {
    const employer = staff ? [staff.condition] : []
    if (text && !text.negated && staff?.selectivity !== 'few')
      return {
        key: 'people_text.rowid',
        from: 'people_text CROSS JOIN people INDEXED BY people_facts ON people.key = people_text.rowid',
        conditions: [['people_text MATCH ?', toFts5(text.texts)] as Condition, ...employer],
      }
    const texts = text ? [sqliteTexts.matchTexts('people', text, staff?.selectivity ?? 'many')] : []
    if (!staff) return { key: 'people.key', from: 'people INDEXED BY people_facts', conditions: texts }
    // The sign keeps SQLite from reading everybody in order; the staff of few companies is quickly sorted.
    return { key: '+people.key', from: 'people', conditions: [...employer, ...texts] }
  },
  hasOrderedNames: true,
  firstTitles: ({ texts }, limit) => [
    `SELECT json_extract(record, '$.title') AS title FROM people
      WHERE key IN (SELECT rowid FROM people_text WHERE people_text MATCH ? LIMIT ?)`,
    toFts5(texts),
    limit,
  ],
  async hasIndexes(connection: Connection, names) {
    const row = await connection.get<{ count: number }>(presentIndexes, JSON.stringify(names))
    return row?.count === names.length
  },
}

// While a table is filled for the first time its indexes are missing, and words are merged at the end: both cost less so.

/** A connection whose statements are answered at once. */
interface Statements extends Connection {
  get<T>(sql: string, ...values: Value[]): T | undefined
  all<T>(sql: string, ...values: Value[]): T[]
  run(sql: string, ...values: Value[]): number
}

const toSynchronous = (connection: Connection): Statements => connection as Statements

// The mark of a table whose indexes were dropped to fill it is a table with their statements. It is there from the
// transaction that drops the first of them to the one that has built the last.
const mark = `CREATE TABLE unbuilt_indexes
  (name TEXT PRIMARY KEY, owner TEXT NOT NULL, column TEXT NOT NULL, sql TEXT NOT NULL) STRICT`

interface Index {
  readonly name: string
  readonly sql: string
}

// An index that begins with the key grows at its end, which costs little.
const droppable = `SELECT schema.name, schema.tbl_name AS owner, columns.name AS column, schema.sql
  FROM sqlite_schema AS schema
    JOIN pragma_index_list(schema.tbl_name) AS list ON list.name = schema.name
    JOIN pragma_index_info(schema.name) AS columns ON columns.seqno = 0
  WHERE schema.tbl_name IN (SELECT value FROM json_each(?))
    AND list.origin = 'c' AND list."unique" = 0 AND columns.name <> 'key'`

const hasDeferredIndexes = (connection: Connection): boolean =>
  toSynchronous(connection).get(`SELECT name FROM sqlite_schema WHERE name = 'unbuilt_indexes'`) !== undefined

function deferIndexes(connection: Connection, tables: readonly string[]): void {
  const statements = toSynchronous(connection)
  const dropped = statements.all<Index>(droppable, JSON.stringify(tables))
  statements.run(mark)
  const insert = `INSERT INTO unbuilt_indexes (name, owner, column, sql) ${droppable}`
  statements.run(insert, JSON.stringify(tables))
  for (const { name } of dropped) statements.run(`DROP INDEX "${name}"`)
  setMerging(statements, deferredMerging)
}

function buildIndexesOn(connection: Connection, table: string, column: string): void {
  if (!hasDeferredIndexes(connection)) return
  const statements = toSynchronous(connection)
  const needed = 'SELECT name, sql FROM unbuilt_indexes WHERE owner = ? AND column = ?'
  for (const index of statements.all<Index>(needed, table, column)) build(statements, index)
}

async function endLoad(driver: Driver, loaded: Loaded | undefined): Promise<void> {
  const { isOver, isRenewed } = await driver.read((connection) => {
    const last =
      loaded && toSynchronous(connection).get<{ key: number }>(`SELECT max(key) AS key FROM ${loaded.table}`)
    return {
      isOver: !hasDeferredIndexes(connection),
      // Many texts were replaced; a merge of all segments drops the words that records no longer have.
      isRenewed: last !== undefined && (loaded?.updated ?? 0) * 10 > last.key,
    }
  })
  if (isOver) return
  await mergeTexts(driver, isRenewed)
  while (await driver.transaction(buildNext));
}

/** Builds the next missing index; takes the mark away, and returns false, when all are built. */
function buildNext(connection: Connection): boolean {
  const statements = toSynchronous(connection)
  if (!hasDeferredIndexes(connection)) return false
  const index = statements.get<Index>('SELECT name, sql FROM unbuilt_indexes LIMIT 1')
  if (index) build(statements, index)
  else {
    setMerging(statements, usualMerging)
    statements.run('DROP TABLE unbuilt_indexes')
  }
  return index !== undefined
}

/** What is kept in the file is a statement like any text in it, so only one that makes an index is run. */
function build(statements: Statements, { name, sql }: Index): void {
  if (/^CREATE INDEX\s/i.test(sql)) statements.run(sql)
  statements.run('DELETE FROM unbuilt_indexes WHERE name = ?', name)
}

// Each commit leaves its words in a segment of their own. SQLite merges a few of them again and again as it writes; when
// much is written, merging them once at the end costs less. It cannot have more than 2,000 segments.

/** The settings that SQLite begins with. */
const usualMerging = { automerge: 4, crisismerge: 16, deletemerge: 10 }
const deferredMerging = { automerge: 0, crisismerge: 64, deletemerge: 0 }

const textTables = `SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'`

function setMerging(statements: Statements, settings: Readonly<Record<string, number>>): void {
  for (const { name: table } of statements.all<{ name: string }>(textTables))
    for (const [name, value] of Object.entries(settings))
      statements.run(`INSERT INTO ${table} (${table}, rank) VALUES ('${name}', ${value})`)
}

/** Pages written by one step of merging: a small part of a second. */
const mergedPages = 2_000

/** Merges segments of words in short transactions; with `whole`, all of a table into one, without the words of deleted texts. */
async function mergeTexts(driver: Driver, whole: boolean): Promise<void> {
  const tables = await driver.read((connection) => connection.all<{ name: string }>(textTables))
  for (const { name: table } of tables) {
    const merge = (pages: number) =>
      driver.transaction((connection) => {
        const statements = toSynchronous(connection)
        const before = countChanges(statements)
        statements.run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ${pages})`)
        // Less than two changes mean that nothing is left to merge.
        return countChanges(statements) - before > 1
      })
    if (await merge(whole ? -mergedPages : mergedPages)) while (await merge(mergedPages));
  }
}

const countChanges = (statements: Statements): number =>
  statements.get<{ changes: number }>('SELECT total_changes() AS changes')?.changes ?? 0

const bulkSettings = [
  // Pages of an index are written again and again. Copying them to the database less often, and reading them back less
  // often, halves the time.
  'wal_autocheckpoint = 8000',
  'cache_size = -32768',
  // A power cut may undo the last transactions of an import that is not done yet. References need not be looked up again:
  // what is referred to was found, or added, in the same transaction.
  'synchronous = NORMAL',
  'foreign_keys = OFF',
]

const durableSettings = ['synchronous = FULL', 'foreign_keys = ON']

async function setAll(driver: Driver, settings: readonly string[]): Promise<void> {
  for (const setting of settings) await driver.set(setting)
}

export const sqliteBulk: BulkLoading = {
  hasDeferredIndexes,
  deferIndexes,
  buildIndexesOn,
  countForeignWrites: (connection) =>
    toSynchronous(connection).get<{ data_version: number }>('PRAGMA data_version')?.data_version,
  beginBulkWrites: (driver) => setAll(driver, bulkSettings),
  endBulkWrites: (driver) => setAll(driver, durableSettings),
}

export const sqliteLoad: CatalogueDialect['load'] = {
  bulk: sqliteBulk,
  endLoad,
  // Words stay in the index until its segments are merged.
  forgetDeletedRows: (driver) => mergeTexts(driver, true),
}

/** Copies into SQLite. Indexes are built, and words merged, when the load that `begin` starts is ended. */
export const sqliteCopy: CatalogueDialect['copy'] = {
  // No transaction is ended for waiting.
  waitLonger: async () => {},
  createTarget: (connection, tables) => ({
    async begin() {
      const names = tables.map(({ name }) => name)
      deferIndexes(connection, names)
    },
    async add({ name, columns, textsOf }, rows) {
      const { sql } = insertInto(name, columns)
      for (const row of rows) {
        connection.run(sql, ...columns.map((column) => row[column] ?? null))
        if (textsOf)
          send(connection, addTexts[name as TextTable], row.key ?? null, ...textsOf(String(row.record)))
      }
    },
    end: async () => {},
  }),
}
