import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  type Connection,
  type Driver,
  insertInto,
} from '../../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../../src/storage/driver/sqlite/driver.js'

const insert = insertInto('numbers', ['value', 'place'])

describe('a batch insert', () => {
  let driver: Driver

  beforeEach(async () => {
    driver = openSqlite(':memory:')
    await driver.transaction((connection) =>
      connection.exec('CREATE TABLE numbers (place INTEGER PRIMARY KEY, value INTEGER NOT NULL)'),
    )
  })

  afterEach(() => driver.close())

  const add = (connection: Connection, place: number) => addRow(connection, insert, 10 * place, place)
  const countIn = (connection: Connection) =>
    connection.get<{ count: number; sum: number }>('SELECT count(*) AS count, sum(value) AS sum FROM numbers')
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
      const removed = await connection.run('DELETE FROM numbers WHERE place > 39')
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
  const driver = openSqlite(':memory:')
  const sums = await driver.read(async (connection) => {
    const found: unknown[] = []
    for (const round of [1, 2])
      for (let at = 0; at < 1_100; at++)
        found.push(await connection.get<{ sum: number }>(`SELECT ? + ${at} AS sum`, round))
    return found
  })
  expect([sums[0], sums[1_100], sums.at(-1)]).toEqual([{ sum: 1 }, { sum: 2 }, { sum: 1_101 }])
  await driver.close()
})
