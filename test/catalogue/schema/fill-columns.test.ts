import fc from 'fast-check'
import { expect, it } from 'vitest'
import { migrations } from '../../../src/catalogue/schema/sqlite.js'
import { migrate } from '../../../src/storage/database/migrate.js'
import type { Driver, Value } from '../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openEmpty, stillClock } from '../open.js'
import { few, peopleFilters, population } from '../population.js'
import { walked } from '../walk.js'

type Row = Readonly<Record<string, Value>>
const rowsOf = (driver: Driver, table: string): Promise<Row[]> =>
  driver.read((connection) => connection.all<Row>(`SELECT * FROM ${table} ORDER BY key`))

/** Copies those columns of a table that were there in the first schema. */
async function copy(table: string, from: Driver, to: Driver): Promise<void> {
  const rows = await rowsOf(from, table)
  await to.transaction(async (connection) => {
    const columns = await connection.all<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)
    const names = columns.map(({ name }) => name)
    const insert = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
    for (const row of rows) await connection.run(insert, ...names.map((name) => row[name] ?? null))
  })
}

it('gives a catalogue of the first schema what an import writes now', async () => {
  const [some] = fc.sample(population, { seed: 7, numRuns: 1 })
  const driver = openSqlite(':memory:')
  const imported = await openEmpty(driver)
  await imported.importRecords('companies', some?.companies ?? [])
  await imported.importRecords('people', some?.people ?? [])
  const old = openSqlite(':memory:')
  await migrate(old, migrations.slice(0, 1))
  for (const table of ['companies', 'people']) await copy(table, driver, old)

  const brought = await openEmpty(old)
  for (const table of ['companies', 'people'])
    expect(await rowsOf(old, table)).toEqual(await rowsOf(driver, table))
  for (const filters of fc.sample(few(peopleFilters, 2), { seed: 7, numRuns: 80 })) {
    const search = { kind: 'people', filters } as const
    expect(await walked(brought, search)).toEqual(await walked(imported, search))
  }
  expect(await brought.count({ kind: 'people', filters: {} }, stillClock.now())).toBe(30)
  await Promise.all([imported.close(), brought.close()])
})
