import { readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { movedParts } from '../../../src/cli/commands/engine/move.js'
import { identifyEngine, openEngineDatabase } from '../../../src/engine/tables/schema.js'
import { migrate } from '../../../src/storage/database/migrate.js'
import { type MovedParts, type MoveReport, moveEngine } from '../../../src/storage/database/move.js'
import { openDatabase } from '../../../src/storage/database/open.js'
import type { Connection } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { machine } from '../../support/command.js'
import { cutConnection } from '../../support/cut-connection.js'
import { perTest } from '../../support/each.js'
import { inWords } from '../../support/in-words.js'
import { freshSchema } from '../../support/postgres.js'

const here = perTest(machine)
const schema = perTest(freshSchema)

const companies = Array.from({ length: 300 }, (_, at) => `company-${at}.example`).join('\n')

/** An engine in a home, with companies, a stored reply and a number that was given to a run. */
async function filled() {
  await here.fill('companies', `domain\n${companies}\n`)
  await here.run('accounts enrich --domain company-1.example --idempotency-key once')
}

interface Changes {
  readonly parts?: (parts: MovedParts) => MovedParts
  readonly onRows?: (rows: number) => void
}

const inHome = () => ({ engine: here.path('engine.db'), catalogue: here.path('catalogue.db') })

/** Moves the engine of the home, with changes that a test makes. */
async function move(engine: string, { parts = (all) => all, onRows = () => {} }: Changes = {}) {
  const [from, to] = [inHome(), { ...inHome(), engine }]
  const all = parts(await movedParts())
  const moving = () => moveEngine({ from, to, parts: all, identify: identifyEngine, now: Date.now(), onRows })
  return (await inWords(moving)) as MoveReport
}

const moveBack = async (changes: Pick<Changes, 'parts'> = {}) => {
  const { parts = (all: MovedParts) => all } = changes
  const [from, to] = [{ ...inHome(), engine: schema.url }, inHome()]
  const all = parts(await movedParts())
  const move = { from, to, parts: all, identify: identifyEngine, now: Date.now(), onRows: () => {} }
  return inWords(() => moveEngine(move))
}

const workspacesAt = async (): Promise<number> => {
  const [found] = await schema.sql("SELECT to_regclass('workspaces') IS NOT NULL AS is_there")
  if (found?.is_there !== true) return 0
  const [counted] = await schema.sql('SELECT count(*) AS count FROM workspaces')
  return Number(counted?.count)
}

describe('what moves', () => {
  /** The columns of each table that a database has. */
  const tablesOf = async (reads: Connection): Promise<Record<string, string[]>> => {
    const columns = await reads.all<{ table: string; column: string }>(
      reads.dialect.name === 'sqlite'
        ? `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
           WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite_*' AND t.name NOT GLOB '*_text*'`
        : `SELECT relname AS "table", attname AS "column" FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
           WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r' AND attnum > 0
             AND relname <> 'schema_version'`,
    )
    const tables = Map.groupBy(columns, ({ table }) => table)
    return Object.fromEntries(
      [...tables].map(([table, of]) => [table, of.map(({ column }) => column).toSorted()]),
    )
  }

  it.each(['engine', 'catalogue', 'runs'] as const)(
    'is every column of every table of the %s, in both databases',
    async (name) => {
      const { schema: made, tables, schemaSuffix } = (await movedParts())[name]
      for (const driver of [
        openSqlite(':memory:'),
        await openDatabase(schema.url, { postgres: { schemaSuffix } }),
      ]) {
        await migrate(driver, made)
        const moved = tables.map(({ name: table, columns, makes }) => {
          const { into, columns: more } = makes?.(driver.dialect) ?? { columns: [] }
          return [table, [...columns, ...(into === undefined ? more : [])].toSorted()]
        })
        expect(await driver.read(tablesOf)).toEqual(Object.fromEntries(moved))
        await driver.close()
      }
    },
  )

  it('includes the numbers that were given and are gone, which are given to no other run', async () => {
    await filled()
    const old = await openEngineDatabase(here.path('engine.db'))
    const addRun = (run: string) => `INSERT INTO reply_runs (workspace_id, run) VALUES ('w', '${run}')`
    await old.transaction((tx) => tx.exec(`${addRun('a')}; ${addRun('b')}; DELETE FROM reply_runs`))
    await old.close()
    await move(schema.url)
    expect(await schema.sql(`${addRun('c')} RETURNING number`)).toEqual([{ number: '3' }])
    await schema.sql('DELETE FROM reply_runs')
    await moveBack()
    const back = await openEngineDatabase(here.path('engine.db'))
    const given = await back.transaction((tx) => tx.get(`${addRun('d')} RETURNING number`))
    await back.close()
    expect(given).toEqual({ number: 4 })
  })
})

describe('a move that fails', () => {
  /** The engine of the home answers, and the server has none. */
  const expectUndone = async () => {
    expect(await here.balance()).toBe(999)
    expect(await workspacesAt()).toBe(0)
    expect(readdirSync(here.home).filter((name) => name.includes('.moving'))).toEqual([])
  }

  it('for a full disk changes nothing, says so, and works when there is room', async () => {
    await filled()
    await move(schema.url)
    const withoutRoom = (parts: MovedParts): MovedParts => {
      const { schema: made } = parts.catalogue
      const schema = { ...made, sqlite: `${made.sqlite};PRAGMA max_page_count = 1;` }
      return { ...parts, catalogue: { ...parts.catalogue, schema } }
    }
    await expect(moveBack({ parts: withoutRoom })).rejects.toThrow(
      `Nothing was moved to ${here.path('engine.db')} on ${hostname()}: the disk is full.`,
    )
    expect(await here.balance({ env: { PROSPECT_DATABASE_URL: schema.url } })).toBe(999)
    expect(readdirSync(here.home).filter((name) => name.includes('.moving'))).toEqual([])
    await moveBack()
    expect(await here.balance()).toBe(999)
  })

  it.each([
    ['before a row is sent', 'INSERT INTO companies', 'before'],
    ['behind a row', 'INSERT INTO companies', 'after'],
    ['behind a statement on indexes', 'ANALYZE companies', 'after'],
  ] as const)(
    'when the connection is cut %s changes nothing, and works the second time',
    async (_, words, cut) => {
      await filled()
      const way = await cutConnection(schema.folder)
      try {
        const url = schema.url.replace(/host=[^&]*&port=\d+/, `host=127.0.0.1&port=${way.port}`)
        way.cutAt(words, cut)
        await expect(move(url)).rejects.toThrow(/^Nothing was moved to postgres:.*: the connection was cut\./)
        await expectUndone()
        await move(url)
        expect(await workspacesAt()).toBe(1)
      } finally {
        await way.close()
      }
    },
  )

  it.each(['before', 'after'] as const)(
    'when the connection is cut %s the last commit arrives is found out by the same command, and never leaves two engines',
    async (cut) => {
      await filled()
      const way = await cutConnection(schema.folder)
      try {
        const url = schema.url.replace(/host=[^&]*&port=\d+/, `host=127.0.0.1&port=${way.port}`)
        const onRows = () => way.cutAt('COMMIT', cut)
        await expect(move(url, { onRows })).rejects.toThrow('is in postgres:')
        expect((await here.run('credits')).stderr).toContain('it has moved to')
        expect(await workspacesAt()).toBe(cut === 'after' ? 1 : 0)
        expect(await move(url)).toMatchObject({ before: cut === 'after' })
        expect(await workspacesAt()).toBe(1)
        expect(await here.balance({ env: { PROSPECT_DATABASE_URL: schema.url } })).toBe(999)
      } finally {
        await way.close()
      }
    },
  )

  it('because of a row that PostgreSQL cannot hold names the row', async () => {
    await filled()
    const old = await openEngineDatabase(here.path('engine.db'))
    await old.transaction((tx) => tx.run('UPDATE members SET name = ?', 'a\0b'))
    const member = await old.read((reads) => reads.get<{ id: string }>('SELECT id FROM members'))
    await old.close()
    await expect(move(schema.url)).rejects.toThrow(
      `A row of members has the character U+0000, which PostgreSQL cannot hold: ["${member?.id}"]. Nothing was moved.`,
    )
    await expectUndone()
  })

  it.each(['file', 'server'] as const)(
    'because its ledger was changed by hand is refused by the rules of a new %s',
    async (where) => {
      await filled()
      const database = new Database(here.path('engine.db'))
      database.exec('DROP TRIGGER movements_unchanged; UPDATE movements SET credits = 5000 WHERE seq = 1')
      database.close()
      const to = where === 'file' ? here.path('other.db') : schema.url
      await expect(move(to)).rejects.toThrow('A row of movements contradicts other rows')
      await expectUndone()
      expect(here.exists('other.db')).toBe(false)
    },
  )

  it('because another process has the file, or works on the server, is not begun', async () => {
    await filled()
    const other = await openEngineDatabase(here.path('engine.db'))
    await other.read((reads) => reads.get('SELECT 1'))
    await expect(move(schema.url)).rejects.toThrow(`Another process has ${here.path('engine.db')} open.`)
    await other.close()
    const catalogue = openSqlite(here.path('catalogue.db'))
    await catalogue.read((reads) => reads.get('SELECT 1'))
    await expect(move(schema.url)).rejects.toThrow(`Another process has ${here.path('catalogue.db')} open.`)
    await catalogue.close()
    await expectUndone()
    await move(schema.url)
    const soon = Date.now() + 20_000
    await schema.sql(`UPDATE replies SET status = NULL, lease_until = ${soon}`)
    await expect(moveBack()).rejects.toThrow('A server, worker or batch works on this engine.')
    await schema.sql('UPDATE replies SET lease_until = 0')
    await moveBack()
    expect(await here.balance()).toBe(999)
  })
})
