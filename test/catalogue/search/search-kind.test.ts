import { expect, it } from 'vitest'
import type { Search } from '../../../src/api/ports/ports.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openEmpty, openWith, stillClock } from '../open.js'

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

const nowhere = ['nowhere at all']
const jobs = { exclude_consulting_recruiting: false, exclude_internships: false }
it.each<[string, Search]>([
  ['included_locations', { kind: 'companies', filters: { included_locations: nowhere } }],
  ['excluded_locations', { kind: 'companies', filters: { excluded_locations: nowhere } }],
  ['keyword', { kind: 'companies', filters: { keyword: 'a AND' } }],
  [
    'locations',
    { kind: 'growth', filters: { min_headcount_growth_percentage: 1, included_locations: nowhere } },
  ],
  ['included_locations', { kind: 'hiring', filters: { ...jobs, included_locations: nowhere } }],
  ['excluded_locations', { kind: 'hiring', filters: { ...jobs, excluded_locations: nowhere } }],
  ['locations', { kind: 'lookalikes', filters: { company_network_url: url, included_locations: nowhere } }],
])('refuses a filter that is invalid, %s, by its name: %j', async (field, search) => {
  const catalogue = await openWith([{ domain: 'acme.example', network_url: url }])
  const refusal = { status: 422, message: expect.stringContaining(field) }
  const now = stillClock.now()
  await expect(catalogue.count(search, now)).rejects.toMatchObject(refusal)
  await expect(catalogue.find(search, { limit: 1, now })).rejects.toMatchObject(refusal)
  await catalogue.close()
})
