import { existsSync, readFileSync, statSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { vacuum } from '../../../src/storage/database/database-file.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perTest(newFolder)
let file = ''
beforeEach(() => {
  file = folder.at('a.db')
})

/** A database from which something was deleted, open. */
async function withDeleted() {
  const driver = openSqlite(file)
  await driver.transaction(async (connection) => {
    await connection.exec('CREATE TABLE a (text TEXT)')
    for (const text of ['kept', 'secret']) await connection.run('INSERT INTO a VALUES (?)', text)
  })
  await driver.transaction((connection) => connection.run(`DELETE FROM a WHERE text = 'secret'`))
  return driver
}

const isLeft = (): boolean =>
  [file, `${file}-wal`].some((name) => existsSync(name) && readFileSync(name).includes('secret'))

describe('vacuuming a database', () => {
  it('leaves no byte of deleted rows, also while another connection is open', async () => {
    const driver = await withDeleted()
    expect(isLeft()).toBe(true)
    expect(vacuum(file)).toBe(true)
    expect(isLeft()).toBe(false)
    expect(await driver.read((connection) => connection.all('SELECT text FROM a'))).toEqual([
      { text: 'kept' },
    ])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await driver.close()
  })

  it.each([
    ['reads', 'SELECT count(*) FROM a'],
    ['writes', `INSERT INTO a VALUES ('more') RETURNING 1`],
  ])('is refused while another connection %s', async (_, sql) => {
    const driver = await withDeleted()
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    void driver.transaction(async (connection) => {
      await connection.all(sql)
      begun.resolve()
      await end.promise
    })
    await begun.promise
    expect(vacuum(file, 0)).toBe(false)
    end.resolve()
    await driver.close()
    expect(vacuum(file, 0)).toBe(true)
    expect(isLeft()).toBe(false)
  })

  it('does nothing when the file is missing', () => {
    expect(vacuum(file)).toBe(true)
    expect(existsSync(file)).toBe(false)
  })
})
