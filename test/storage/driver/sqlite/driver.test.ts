import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Driver } from '../../../../src/storage/driver/connection.js'
import { checkVersion, fromSqliteError, openSqlite } from '../../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../../support/each.js'
import { newFolder } from '../../../support/new-folder.js'

const folder = perTest(newFolder)
let driver: Driver

beforeEach(async () => {
  driver = openSqlite(folder.at('test.db'))
  await driver.transaction((connection) => connection.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY)'))
})

afterEach(() => driver.close())

const insert = (n: number) =>
  driver.transaction((connection) => connection.run('INSERT INTO numbers VALUES (?)', n))
const numbers = () =>
  driver.read(async (connection) =>
    (await connection.all<{ n: number }>('SELECT n FROM numbers')).map(({ n }) => n),
  )

describe('a pragma', () => {
  it('is changed between transactions, also one that cannot change within them', async () => {
    const setting = () =>
      driver.read((connection) => connection.get<{ foreign_keys: number }>('PRAGMA foreign_keys'))
    await Promise.all([insert(1), driver.set('foreign_keys = 0'), insert(2)])
    expect(await setting()).toEqual({ foreign_keys: 0 })
    expect(await numbers()).toEqual([1, 2])
  })

  it('that is invalid is reported, and blocks nothing', async () => {
    await expect(driver.set('foreign_keys = = 0')).rejects.toThrow('syntax')
    await insert(1)
    expect(await numbers()).toEqual([1])
  })
})

describe('a file that cannot be used', () => {
  it('is refused with the reason of the system, also where the disk fails later', () => {
    expect(() => openSqlite('/proc/prospect.db')).toThrow('/proc/prospect.db: ENOENT')
    const failed = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' })
    expect(fromSqliteError(failed)).toMatchObject({ code: 'storage_failed' })
  })
})

describe('transactions in one group commit', () => {
  it('roll back alone when they fail after a write', async () => {
    const outcomes = await Promise.allSettled([
      insert(1),
      driver.transaction(async (connection) => {
        await connection.run('INSERT INTO numbers VALUES (2)')
        throw new Error('changed its mind')
      }),
      insert(3),
      insert(1),
      driver.transaction(() => {
        throw new Error('never wrote')
      }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(
      'fulfilled rejected fulfilled rejected rejected'.split(' '),
    )
    expect(await numbers()).toEqual([1, 3])
  })

  it('roll back after a write that returns rows', async () => {
    const failing = driver.transaction(async (connection) => {
      await connection.get('INSERT INTO numbers VALUES (1) RETURNING n')
      throw new Error('changed its mind')
    })
    await Promise.allSettled([failing, insert(2)])
    expect(await numbers()).toEqual([2])
  })

  it('run one after the other, whatever they await', async () => {
    const seen: string[] = []
    const slowly = (name: string) =>
      driver.transaction(async () => {
        seen.push(`${name} begins`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        seen.push(`${name} ends`)
      })
    await Promise.all([slowly('a'), slowly('b')])
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })

  it('are invisible to reads until they are committed', async () => {
    let release = () => {}
    const writing = driver.transaction(async (connection) => {
      await connection.run('INSERT INTO numbers VALUES (7)')
      await new Promise<void>((resolve) => {
        release = resolve
      })
      throw new Error('changed its mind')
    })
    const undone = expect(writing).rejects.toThrow('changed its mind')
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    const reading = numbers()
    release()
    await undone
    expect(await reading).toEqual([])
  })

  it('are followed by others after a failure', async () => {
    await insert(3)
    await expect(insert(3)).rejects.toThrow()
    await insert(4)
    expect(await numbers()).toEqual([3, 4])
  })
})

describe('the database file', () => {
  it('is private from its creation, with its WAL', async () => {
    await insert(1)
    for (const name of ['test.db', 'test.db-wal', 'test.db-shm'])
      expect(statSync(folder.at(name)).mode & 0o777, name).toBe(0o600)
  })

  it('is refused behind a symbolic link', () => {
    symlinkSync(folder.at('test.db'), folder.at('link.db'))
    expect(() => openSqlite(folder.at('link.db'))).toThrow(/symbolic link/)
  })

  it('is refused when it is not a database', async () => {
    writeFileSync(folder.at('text.db'), 'this is a text, not a database, and long enough to be looked at')
    const text = openSqlite(folder.at('text.db'))
    await expect(text.read((connection) => connection.get('SELECT 1 FROM sqlite_schema'))).rejects.toThrow(
      'The database cannot be used: the file is not a database',
    )
  })
})

describe('the version of SQLite', () => {
  it.each(['3.7.0', '3.8.0', '3.39.5', '3.50.4', '3.51.0', '3.51.2'])('%s is refused', (version) => {
    expect(() => checkVersion(version)).toThrow(/can corrupt a shared file/)
  })
  it.each(['3.6.23', '3.51.3', '3.51.10', '3.52.0', '3.53.2', '4.0.0'])('%s is accepted', (version) => {
    expect(() => checkVersion(version)).not.toThrow()
  })
})
