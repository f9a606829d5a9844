import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { migrate, type Schema, toSchemaState } from '../../../src/storage/database/migrate.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perTest(newFolder)
const tables = "CREATE TABLE things (name TEXT NOT NULL); INSERT INTO things VALUES ('one');"
const schemaOf = (sqlite: string): Schema => ({ sqlite, postgres: '' })

async function prepared(schema = schemaOf(tables)): Promise<void> {
  const driver = openSqlite(folder.at('test.db'))
  await migrate(driver, schema).finally(() => driver.close())
}

/** Asks the database with a connection of its own. */
function ask(work: (database: Database.Database) => unknown): unknown {
  const database = new Database(folder.at('test.db'))
  try {
    return work(database)
  } finally {
    database.close()
  }
}

const version = () => ask((database) => database.pragma('user_version', { simple: true }))
const tableNames = () => ask((database) => database.prepare('SELECT name FROM sqlite_schema').pluck().all())

describe('the schema of a database', () => {
  it.each([
    [0, 'empty'],
    [1, 'current'],
    [2, 'newer'],
  ])('of version %d is %s', (stored, is) => {
    expect(toSchemaState(stored)).toEqual({ is, version: stored, newest: 1 })
  })

  it('is created once, as version 1, however many processes start together', async () => {
    await Promise.all(Array.from({ length: 8 }, () => prepared()))
    expect([version(), tableNames()]).toEqual([1, ['things']])
    expect(ask((database) => database.prepare('SELECT name FROM things').pluck().all())).toEqual(['one'])
  })

  it('leaves nothing behind when it cannot be created', async () => {
    await expect(prepared(schemaOf(`${tables} CREATE TABLE things (id INTEGER);`))).rejects.toThrow()
    expect([version(), tableNames()]).toEqual([0, []])
  })

  it('of a newer program is refused, and its file is left byte for byte as it was', async () => {
    await prepared()
    ask((database) => database.pragma('user_version = 2'))
    const before = readFileSync(folder.at('test.db'))
    await expect(prepared()).rejects.toThrow(
      "schema version 2, newer than this program's 1; upgrade prospect",
    )
    expect(readFileSync(folder.at('test.db')).equals(before)).toBe(true)
  })
})
