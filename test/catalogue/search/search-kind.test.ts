import { expect, it } from 'vitest'
import type { Search } from '../../../src/api/ports/ports.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openEmpty, stillClock } from '../open.js'

const url = 'https://www.network.example/company/acme'
const searches: readonly (readonly [index: string, search: Search])[] = [
  ['company_technologies_by_company', { kind: 'stack', filters: { stack_match: 'or', stacks: ['go'] } }],
  ['company_technologies_by_company', { kind: 'lookalikes', filters: { company_network_url: url } }],
  [
    'jobs_by_company',
    { kind: 'hiring', filters: { exclude_consulting_recruiting: false, exclude_internships: false } },
  ],
  ['people_by_slug', { kind: 'engagers', filters: { post_url: url, engagement: 'all' } }],
]

it.each(searches)(
  'refuses a search as busy while its required index %s is missing',
  async (index, search) => {
    const driver = openSqlite(':memory:')
    const catalogue = await openEmpty(driver)
    await catalogue.importRecords('companies', [{ domain: 'acme.example', network_url: url }])
    const now = stillClock.now()
    expect(await catalogue.count(search, now)).toBeLessThan(2)
    await driver.transaction((connection) => connection.exec(`DROP INDEX ${index}`))
    await expect(catalogue.count(search, now)).rejects.toMatchObject({ code: 'busy' })
    await expect(catalogue.find(search, { limit: 1, now })).rejects.toMatchObject({ code: 'busy' })
    await catalogue.close()
  },
)
