import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  type Connection,
  type Driver,
  insertInto,
} from '../../../../src/storage/driver/connection.js'
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
    const release = Promise.withResolvers<void>()
    const writing = driver.transaction(async (connection) => {
      await connection.run('INSERT INTO numbers VALUES (7)')
      await release.promise
      throw new Error('changed its mind')
    })
    const undone = expect(writing).rejects.toThrow('changed its mind')
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    const reading = numbers()
    release.resolve()
    await undone
    expect(await reading).toEqual([])
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

const insertPlace = insertInto('places', ['value', 'place'])

describe('a batch insert', () => {
  beforeEach(() =>
    driver.transaction((connection) =>
      connection.exec('CREATE TABLE places (place INTEGER PRIMARY KEY, value INTEGER NOT NULL)'),
    ),
  )

  const add = (connection: Connection, place: number) => addRow(connection, insertPlace, 10 * place, place)
  const countIn = (connection: Connection) =>
    connection.get<{ count: number; sum: number }>('SELECT count(*) AS count, sum(value) AS sum FROM places')
  const count = () => driver.read(countIn)

  it.each([1, 7, 8, 31, 32, 33, 75, 1_000])('inserts all %i rows', async (many) => {
    await driver.transaction((connection) => {
      for (let place = 1; place <= many; place++) add(connection, place)
    })
    expect(await count()).toEqual({ count: many, sum: 5 * many * (many + 1) })
  })

  it('is flushed before the next statement of its transaction', async () => {
    const seen = await driver.transaction(async (connection) => {
      for (let place = 1; place <= 40; place++) add(connection, place)
      const before = await countIn(connection)
      add(connection, 41)
      const removed = await connection.run('DELETE FROM places WHERE place > 39')
      return [before?.count, removed]
    })
    expect([seen, (await count())?.count]).toEqual([[40, 2], 39])
  })

  it('fails only for the transaction at fault, and runs the others again', async () => {
    const works = [1, 2, 1, 3].map((place) =>
      driver.transaction((connection) => {
        add(connection, place)
      }),
    )
    const outcomes = await Promise.allSettled(works)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[2]).toMatchObject({ reason: { code: 'already_there' } })
    expect((await count())?.count).toBe(3)
  })

  it('leaves nothing behind when a row fails during the read of another transaction', async () => {
    const works = [
      driver.transaction((connection) => {
        add(connection, 1)
        add(connection, 1)
      }),
      driver.transaction(async (connection) => {
        const seen = await Promise.resolve()
          .then(() => countIn(connection))
          .catch(() => undefined)
        return seen?.count
      }),
    ]
    const [failed, asked] = await Promise.allSettled(works)
    expect([failed?.status, asked]).toEqual(['rejected', { status: 'fulfilled', value: 0 }])
    expect((await count())?.count).toBe(0)
  })

  it('is rolled back with its transaction', async () => {
    const undone = driver.transaction((connection) => {
      add(connection, 1)
      throw new Error('not to be')
    })
    await expect(undone).rejects.toThrow('not to be')
    await driver.transaction((connection) => {
      add(connection, 2)
    })
    expect(await count()).toEqual({ count: 1, sum: 20 })
  })
})

it('prepares statements anew of which it has forgotten the oldest', async () => {
  const sums = await driver.read(async (connection) => {
    const found: unknown[] = []
    for (const round of [1, 2])
      for (let at = 0; at < 1_100; at++)
        found.push(await connection.get<{ sum: number }>(`SELECT ? + ${at} AS sum`, round))
    return found
  })
  expect([sums[0], sums[1_100], sums.at(-1)]).toEqual([{ sum: 1 }, { sum: 2 }, { sum: 1_101 }])
})
