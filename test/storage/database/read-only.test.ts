import { readdirSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { findFaults, openReadOnly } from '../../../src/storage/database/database-file.js'
import { readVersion } from '../../../src/storage/database/migrate.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perTest(newFolder)
let path = ''
beforeEach(() => {
  path = folder.at('a.db')
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.exec('CREATE TABLE t (x); INSERT INTO t VALUES (7); PRAGMA user_version = 3')
  database.close()
})

describe('a database that is opened read-only', () => {
  it('answers queries and leaves no file beside it', async () => {
    const driver = openReadOnly(path)
    expect(await driver.read((connection) => connection.all('SELECT x FROM t'))).toEqual([{ x: 7 }])
    expect([await driver.read(readVersion), await findFaults(driver)]).toEqual([3, []])
    await driver.close()
    expect(readdirSync(folder.path)).toEqual(['a.db'])
  })

  it('refuses every write', async () => {
    const driver = openReadOnly(path)
    await expect(driver.transaction((connection) => connection.run('DELETE FROM t'))).rejects.toThrow(
      'read-only',
    )
    await expect(driver.read((connection) => connection.run('DELETE FROM t'))).rejects.toThrow('read-only')
    expect(await driver.read((connection) => connection.get('SELECT x FROM t'))).toEqual({ x: 7 })
    await driver.close()
  })

  it('sees what others committed to the WAL, and does not checkpoint it', async () => {
    const other = new Database(path)
    other.exec('INSERT INTO t VALUES (8)')
    const driver = openReadOnly(path)
    expect(await driver.read((connection) => connection.all('SELECT x FROM t'))).toEqual([{ x: 7 }, { x: 8 }])
    await driver.close()
    expect(readdirSync(folder.path)).toEqual(['a.db', 'a.db-shm', 'a.db-wal'])
    other.close()
  })

  it('is not created when it is missing', () => {
    expect(() => openReadOnly(folder.at('b.db'))).toThrow('cannot be opened')
    expect(readdirSync(folder.path)).toEqual(['a.db'])
  })

  it('is refused with a clear message when it is not a database', () => {
    writeFileSync(path, 'x'.repeat(10_000))
    expect(() => openReadOnly(path)).toThrow('the file is not a database')
  })
})
