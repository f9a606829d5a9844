import { expect, it } from 'vitest'
import { loadSample } from '../../../src/catalogue/sample/sample.js'
import { fillSignals } from '../../../src/catalogue/schema/fill-signals.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openEmpty, stillClock } from '../open.js'

it('fills what signals are found by as an import does', async () => {
  const driver = openSqlite(':memory:')
  const catalogue = await openEmpty(driver)
  await loadSample(catalogue, { companies: 40, people: 0, now: stillClock.now() })
  const read = () =>
    driver.read(async (connection) => [
      await connection.all('SELECT * FROM headcount_growth ORDER BY company, department'),
      await connection.all('SELECT key, posted_at, country, region, city, statuses FROM jobs ORDER BY key'),
    ])
  const imported = await read()
  expect(imported.map((rows) => rows.length > 40)).toEqual([true, true])
  await driver.transaction(async (connection) => {
    await connection.exec('DELETE FROM headcount_growth')
    await connection.exec('UPDATE jobs SET region = NULL, city = NULL, statuses = NULL')
    await fillSignals(connection)
  })
  expect(await read()).toEqual(imported)
  await catalogue.close()
})
