import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addRow, type Connection, type Driver } from '../../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../../src/storage/driver/sqlite/driver.js'

const addSql = 'INSERT INTO numbers (value, place) VALUES (?, ?)'

describe('rows that are added together', () => {
  let driver: Driver

  beforeEach(async () => {
    driver = openSqlite(':memory:')
    await driver.transaction((connection) =>
      connection.exec('CREATE TABLE numbers (place INTEGER PRIMARY KEY, value INTEGER NOT NULL)'),
    )
  })

  afterEach(() => driver.close())

  const add = (connection: Connection, place: number) => addRow(connection, addSql, 10 * place, place)
  const countIn = (connection: Connection) =>
    connection.get<{ count: number; sum: number }>('SELECT count(*) AS count, sum(value) AS sum FROM numbers')
  const count = () => driver.read(countIn)

  it.each([1, 7, 8, 31, 32, 33, 75, 1_000])('are all done, %i of them', async (many) => {
    await driver.transaction((connection) => {
      for (let place = 1; place <= many; place++) add(connection, place)
    })
    expect(await count()).toEqual({ count: many, sum: 5 * many * (many + 1) })
  })

  it('are done before whatever asks', async () => {
    const seen = await driver.transaction(async (connection) => {
      for (let place = 1; place <= 40; place++) add(connection, place)
      const before = await countIn(connection)
      add(connection, 41)
      const removed = await connection.run('DELETE FROM numbers WHERE place > 39')
      return [before?.count, removed]
    })
    expect([seen, (await count())?.count]).toEqual([[40, 2], 39])
  })

  it('fail with their own work only, whose others are run again', async () => {
    const works = [1, 2, 1, 3].map((place) =>
      driver.transaction((connection) => {
        add(connection, place)
      }),
    )
    const outcomes = await Promise.allSettled(works)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[2]).toMatchObject({ reason: { name: 'AlreadyThere' } })
    expect((await count())?.count).toBe(3)
  })

  it('leave nothing behind when one of them failed and somebody looked away', async () => {
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

  it('are undone with their transaction', async () => {
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
