import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmin } from '../../../src/engine/admin/admin.js'
import { findRunReply, storeRunReply } from '../../../src/engine/credits/settlement.js'
import { exportEngine, importEngine } from '../../../src/engine/tables/export.js'
import { listWorkspaces, readClock } from '../../../src/engine/tables/members.js'
import { engineSchema, listEngineTables, openEngineDatabase } from '../../../src/engine/tables/schema.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { sampleRun } from '../../reference/sample-run.js'
import { perTest } from '../../support/each.js'
import { randomIds } from '../../support/engine.js'
import { inWords } from '../../support/in-words.js'
import { newFolder } from '../../support/new-folder.js'
import { emptySchema, type TestDatabase } from '../../support/postgres.js'

const folder = perTest(newFolder)
let schema: TestDatabase | undefined
const open: Driver[] = []

afterEach(async () => {
  for (const driver of open.splice(0)) await driver.close()
  await schema?.drop()
  schema = undefined
})

const file = (name: string) => folder.at(name)

async function database(location: string): Promise<Driver> {
  const driver = await openEngineDatabase(location)
  open.push(driver)
  return driver
}

/** A place in PostgreSQL, for an engine. */
async function onServer(): Promise<string> {
  schema ??= await emptySchema()
  return schema.url
}

const adminOf = (store: Driver) => createAdmin({ store, clock: { now: Date.now }, ids: randomIds })

/** A database with a workspace in it. */
async function begun(location: string): Promise<Driver> {
  const driver = await database(location)
  await adminOf(driver).init()
  return driver
}

describe('exporting an engine', () => {
  it('P40: is the same in PostgreSQL and back in a file, byte for byte', async () => {
    await sampleRun(file('old.db'))
    const rows = await exportEngine(await database(file('old.db')), file('first'))
    expect(rows).toBeGreaterThan(200)
    expect(statSync(file('first')).mode & 0o777).toBe(0o600)
    const server = await database(await onServer())
    expect(await importEngine(server, file('first'))).toBe(rows)
    await exportEngine(server, file('second'))
    const back = await database(file('new.db'))
    await importEngine(back, file('second'))
    await exportEngine(back, file('third'))
    const first = readFileSync(file('first'), 'utf8')
    expect(readFileSync(file('second'), 'utf8')).toBe(first)
    expect(readFileSync(file('third'), 'utf8')).toBe(first)
    for (const driver of [server, back]) expect((await adminOf(driver).verify()).problems).toEqual([])
  })

  it('includes all of its tables', async () => {
    const driver = await database(file('one.db'))
    const named = (type: string) =>
      driver.read((connection) =>
        connection.all<{ name: string }>(
          "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%' ORDER BY name",
          type,
        ),
      )
    const names = async (type: string) => (await named(type)).map(({ name }) => name)
    expect(await names('table')).toEqual(Object.keys(listEngineTables()).toSorted())
    expect(engineSchema.privateTables).toEqual([...Object.keys(listEngineTables()), ...(await names('view'))])
  })

  it('continues the numbers of its runs after the import', async () => {
    const old = await begun(file('old.db'))
    const keep = (store: Driver, run: string) =>
      store.transaction((tx) =>
        storeRunReply(tx, 'w', { run, ordinal: 1, fresh: false }, { status: 200, credits: 1, body: run }),
      )
    for (const run of ['a', 'b']) await keep(old, run)
    await exportEngine(old, file('export'))
    const server = await database(await onServer())
    await importEngine(server, file('export'))
    expect(await keep(server, 'c')).toBe(true)
    const bodies = await server.read(async (tx) => {
      const replies = []
      for (const run of ['a', 'b', 'c']) replies.push((await findRunReply(tx, 'w', run, 1))?.body)
      return replies
    })
    expect(bodies).toEqual(['a', 'b', 'c'])
  })

  it('holds more rows than are added at once', async () => {
    const driver = await begun(file('one.db'))
    await driver.transaction((connection) =>
      connection.exec(`INSERT INTO movements
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
        SELECT workspace_id, seq + i, 'top_up', 'issued', 'credits', 1, credits + i, 0, 0, NULL, NULL, NULL, created_at
        FROM n, (SELECT * FROM movements)`),
    )
    await exportEngine(driver, file('export'))
    const copy = await database(file('two.db'))
    await importEngine(copy, file('export'))
    const count = 'SELECT count(*) AS n FROM movements'
    expect(await copy.read((connection) => connection.get(count))).toEqual({ n: 601 })
  })

  it('never overwrites another engine or another file', async () => {
    const driver = await begun(file('one.db'))
    await exportEngine(driver, file('export'))
    await expect(inWords(() => exportEngine(driver, file('export')))).rejects.toThrow('exists already')
    await expect(inWords(() => importEngine(driver, file('export')))).rejects.toThrow(
      'has workspaces already',
    )
    await expect(exportEngine(driver, file('nowhere/export'))).rejects.toMatchObject({ name: 'Refusal' })
  })

  it.each<[string, (text: string) => string]>([
    ['cut', (text) => text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)],
    ['without a line', (text) => text.replace(/\{"table":"members".*\n/, '')],
    ['with another number of rows', (text) => text.replace('{"rows":', '{"rows":1')],
    ['with a changed amount', (text) => text.replace('"amount":1000', '"amount":9000')],
    ['of a newer program', (text) => text.replace(/"schema":\d+/, '"schema":1900')],
    ['of no schema', (text) => text.replace(/,"schema":\d+/, '')],
    ['with a value that is none', (text) => text.replace('"revoked_at":null', '"revoked_at":true')],
    ['with a list as a value', (text) => text.replace('"revoked_at":null', '"revoked_at":[]')],
    [
      'continued behind its end',
      (text) => {
        const [last = '', ...lines] = text.split('\n').slice(0, -2).reverse()
        return [...lines.reverse(), `{"rows":${lines.length - 1}}`, last].join('\n')
      },
    ],
    ['no export', () => 'name,domain\nAcme,acme.example\n'],
    ['with a table of its own', (text) => text.replace('"table":"members"', '"table":"sqlite_master"')],
    ['empty', () => ''],
  ])('is refused on import when it is %s, and leaves nothing behind', async (_, spoil) => {
    await exportEngine(await begun(file('one.db')), file('export'))
    writeFileSync(file('spoilt'), spoil(readFileSync(file('export'), 'utf8')))
    for (const location of [file('other.db'), await onServer()]) {
      const driver = await database(location)
      await expect(importEngine(driver, file('spoilt'))).rejects.toMatchObject({ name: 'Refusal' })
      expect(await driver.read((tx) => listWorkspaces(tx))).toEqual([])
      expect(await driver.read((tx) => readClock(tx))).toEqual({ offsetMs: 0, frozenAt: null })
    }
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  it('refuses to overwrite a partial file of another command', async () => {
    const partial = file(`export.${process.pid}.partial`)
    writeFileSync(partial, 'theirs')
    const driver = await begun(file('one.db'))
    await expect(inWords(() => exportEngine(driver, file('export')))).rejects.toThrow(
      '.partial exists already',
    )
    expect(readFileSync(partial, 'utf8')).toBe('theirs')
    rmSync(partial)
    await exportEngine(driver, file('export'))
    expect(existsSync(partial)).toBe(false)
  })

  it('reports a lost server, not a fault of the file', async () => {
    const driver = await begun(file('one.db'))
    const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
    const losing: Driver = {
      ...driver,
      read: (work) =>
        driver.read((connection) => work({ ...connection, all: () => Promise.reject(lost) as never })),
    }
    await expect(exportEngine(losing, file('export'))).rejects.toBe(lost)
    expect(readdirSync(folder.path).filter((name) => name.startsWith('export'))).toEqual([])
  })

  it('starts its file again when the read is retried', async () => {
    const driver = await begun(file('one.db'))
    const twice: Driver = {
      ...driver,
      read: async (work) => {
        await driver.read(work)
        return await driver.read(work)
      },
    }
    const rows = await exportEngine(twice, file('export'))
    expect(readFileSync(file('export'), 'utf8').trimEnd().split('\n')).toHaveLength(rows + 2)
  })

  it('names the row with a character that PostgreSQL cannot hold', async () => {
    const old = await begun(file('one.db'))
    await old.transaction((connection) => connection.run('UPDATE members SET name = ?', 'a\0b'))
    const member = await old.read((connection) => connection.get<{ id: string }>('SELECT id FROM members'))
    await exportEngine(old, file('export'))
    const server = await database(await onServer())
    await expect(inWords(() => importEngine(server, file('export')))).rejects.toThrow(
      `a row of members with the character U+0000, which PostgreSQL cannot hold: ["${member?.id}"]`,
    )
    expect(await server.read((tx) => listWorkspaces(tx))).toEqual([])
  })
})
