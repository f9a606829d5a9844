import { expect, it } from 'vitest'
import type { Search } from '../../../src/api/ports/ports.js'
import { openWith, stillClock } from '../open.js'

const url = 'https://www.network.example/company/acme'
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
