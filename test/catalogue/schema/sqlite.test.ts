import { describe, expect, it } from 'vitest'
import { storedNumber } from '../../../src/storage/database/migrate.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'
import { openEmpty } from '../open.js'

describe('the catalogue file', () => {
  const folder = perTest(newFolder)
  const file = () => openSqlite(folder.at('catalogue.db'))

  it('keeps its records after it is reopened', async () => {
    const first = await openEmpty(file())
    await first.importRecords('companies', [{ domain: 'acme.example', name: 'Acme' }])
    await first.close()
    const again = await openEmpty(file())
    expect(await again.company({ domain: 'acme.example' })).toMatchObject({ name: 'Acme' })
    await again.close()
  })

  it('is refused and left as it is when a newer program wrote it', async () => {
    await (await openEmpty(file())).close()
    const driver = file()
    await driver.transaction((connection) => connection.exec(`PRAGMA user_version = ${storedNumber(3)}`))
    await expect(openEmpty(driver)).rejects.toThrow('upgrade')
    await expect(driver.read(() => 1)).rejects.toThrow()
    const again = file()
    const version = await again.read((connection) => connection.get('PRAGMA user_version'))
    expect(version).toEqual({ user_version: storedNumber(3) })
    await again.close()
  })

  it('can be opened twice at the same time, and shows imports of the other connection', async () => {
    const [one, other] = await Promise.all([openEmpty(file()), openEmpty(file())])
    await one.importRecords('companies', [{ domain: 'acme.example' }])
    expect((await other.stats()).companies).toBe(1)
    await Promise.all([one.close(), other.close()])
  })

  it('has an index for each identifier of a company', async () => {
    const driver = file()
    const catalogue = await openEmpty(driver)
    const plans = await driver.read(async (connection) => {
      const details: string[] = []
      for (const column of ['domain', 'network_id', 'slug', 'name'])
        for (const row of await connection.all<{ detail: string }>(
          `EXPLAIN QUERY PLAN SELECT record FROM companies WHERE ${column} = ?`,
          'x',
        ))
          details.push(row.detail)
      return details
    })
    expect(plans.filter((detail) => !detail.startsWith('SEARCH companies USING INDEX'))).toEqual([])
    await catalogue.close()
  })
})
