import { chmodSync, readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { migrate, newestVersion, toSchemaState } from '../../../src/storage/database/migrate.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { sample, tries } from '../../support/effort.js'
import { madeUp } from '../../support/made-up-schema.js'
import { backUp, copyDatabase, migrateIn, shapeOf } from '../../support/migrations.js'
import { newFolder } from '../../support/new-folder.js'
import { bundled } from '../../support/programs.js'

const folder = perTest(newFolder)
let drivers: Driver[] = []
afterEach(async () => {
  await Promise.all(drivers.map((driver) => driver.close()))
  drivers = []
})

const place = (name = 'test.db') => folder.at(name)
function open(name?: string): Driver {
  const driver = openSqlite(place(name))
  drivers.push(driver)
  return driver
}

/** A database of a version, or one that stores another number. */
async function made(version: number, stored = version, name?: string): Promise<string> {
  const driver = openSqlite(place(name))
  await migrate(driver, madeUp(version))
  await driver.transaction((connection) => connection.exec(`PRAGMA user_version = ${stored}`))
  await driver.close()
  return place(name)
}

const things = (driver: Driver) =>
  driver.read((connection) => connection.all('SELECT name, length FROM things ORDER BY id'))
const filled = [
  { name: 'one', length: 3 },
  { name: 'two', length: 3 },
]

describe('the version of a schema', () => {
  it('begins with 1', () => expect(newestVersion(madeUp(1))).toBe(1))

  it.each([
    [0, { is: 'empty', version: 0 }],
    [1, { is: 'older', version: 1 }],
    [3, { is: 'current', version: 3 }],
    [4, { is: 'newer', version: 4 }],
  ])('returns the right state for version %d', (stored, state) => {
    expect(toSchemaState(stored, madeUp())).toEqual({ ...state, newest: 3 })
  })
})

describe('a migration', () => {
  it('creates version 1 in an empty database, then runs the later steps', async () => {
    const driver = open()
    await migrate(driver, madeUp(1))
    expect(shapeOf(place()).stored).toBe(1)
    await Promise.all([migrate(driver, madeUp()), migrate(open(), madeUp())])
    expect(shapeOf(place()).stored).toBe(3)
    expect(await things(driver)).toEqual(filled)
  })

  it('gives every database the same schema, whatever version it started from', async () => {
    const whole = open('whole.db')
    await migrate(whole, madeUp())
    const began = [await made(1), await made(2, undefined, 'second.db')]
    for (const file of began) {
      const driver = openSqlite(file)
      await migrate(driver, madeUp())
      await driver.close()
      expect(shapeOf(file, 'rows')).toEqual(shapeOf(place('whole.db'), 'rows'))
    }
  })

  it('leaves nothing behind when a step fails', async () => {
    const file = await made(1)
    const before = shapeOf(file, 'rows')
    const { steps, ...rest } = madeUp()
    const failing = { ...rest, steps: [...steps, { sqlite: 'CREATE TABLE things (id INTEGER);' }] }
    await expect(migrate(open(), failing)).rejects.toThrow()
    expect(shapeOf(file, 'rows')).toEqual(before)
  })

  it.each([['a newer program', 2, "schema version 2, newer than this program's 1; upgrade prospect"]])(
    'refuses a database of %s, and leaves its file byte for byte as it was',
    async (_, stored, text) => {
      const file = await made(1, stored)
      const before = readFileSync(file)
      const driver = openSqlite(file)
      await expect(migrate(driver, madeUp(1))).rejects.toThrow(text)
      await driver.close()
      expect(readFileSync(file).equals(before)).toBe(true)
    },
  )
})

describe('P39: processes that migrate', () => {
  let program: string
  beforeAll(async () => {
    program = await bundled('programs/migrating.ts')
  })

  /** What a database can be before its migration. */
  const beginnings = {
    empty: async () => {
      new Database(place()).close()
      chmodSync(place(), 0o600)
      return place()
    },
    'of version 1': () => made(1),
  }

  const ours = tries<readonly string[]>([], [])
  it.each([
    ...Object.entries(beginnings).map(([name, begin], at) => ['made-up', name, begin, at] as const),
    ...ours.map((kind) => [kind, 'empty', beginnings.empty, 0] as const),
  ])(
    'leave a %s database that is %s whole when they are killed at any statement',
    async (kind, _, begin, at) => {
      const old = await begin()
      const whole = place('whole.db')
      copyDatabase(old, whole)
      const { statements, stored } = await migrateIn(program, whole, kind)
      expect(stored).toBeGreaterThanOrEqual(1)
      const [before, after] = [shapeOf(old, 'rows'), shapeOf(whole, 'rows')]
      const all = Array.from({ length: statements }, (_, before) => before + 1)
      for (const deadly of sample(all, 4, at)) {
        const file = place('killed.db')
        copyDatabase(old, file)
        expect((await migrateIn(program, file, kind, deadly)).signal).toBe('SIGKILL')
        await backUp(file, place('kept.db'))
        expect(shapeOf(place('kept.db'), 'rows')).toEqual(before)
        expect(await migrateIn(program, file, kind)).toMatchObject({ exitCode: 0, stored })
        expect(shapeOf(file, 'rows')).toEqual(after)
      }
    },
  )

  it('migrate once when eight start together', async () => {
    const file = await made(1)
    const eight = await Promise.all(Array.from({ length: 8 }, () => migrateIn(program, file, 'made-up')))
    expect(eight.map(({ exitCode, stored, stderr }) => [exitCode, stored, stderr])).toEqual(
      Array(8).fill([0, 3, '']),
    )
    expect(eight.filter(({ statements }) => statements > 0)).toHaveLength(1)
    expect(shapeOf(file, 'rows').rows).toContainEqual([
      'things',
      filled.map((thing, at) => ({ id: at + 1, ...thing })),
    ])
  })
})
