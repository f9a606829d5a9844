import { beforeEach, describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { requests } from './requests.js'
import { idOf, openService, type Service } from './service.js'

let service: Service
beforeEach(async () => {
  service = await openService()
  await service.admin.setPlan('Free')
})

const spending = [
  'POST /contacts/single_enrich',
  'POST /contacts/sync_single_enrich',
  'POST /contacts/bulk_enrich',
  'POST /contacts/reverse_lookup',
  'POST /leads/single_enrich',
  'POST /accounts/single_enrich',
  'POST /accounts/company_stack',
  'POST /accounts/company_hiring',
  'POST /intents/accounts/hiring',
  'POST /intents/accounts/stack',
  'POST /messenger_validations',
]
/** Observed and not in the specification; exempt as the single ones are. */
const inBulk = ['POST /accounts/bulk_enrich', 'POST /leads/bulk_enrich']
const lookups = [
  'GET /contacts/{id}',
  'GET /contacts/{id}/single_enrich',
  'GET /searches/{id}',
  'GET /lists/{id}',
  'GET /account',
  'GET /credits',
]

/** Two requests of one second, on a plan that allows one a minute. */
async function twice(endpoint: string, fields = requests[idOf(endpoint)]) {
  const answers = [await service.at(endpoint, fields), await service.at(endpoint, fields)]
  return answers.map(({ status }) => status)
}

describe('exempt from the plan limit', () => {
  it.each([...spending, ...inBulk])('are operations that spend credits: %s', async (endpoint) => {
    const statuses = await twice(endpoint)
    expect(statuses[0]).toBeLessThan(300)
    expect(statuses[1]).toBe(statuses[0])
  })

  it.each(lookups)('are lookups of status and account: %s', async (endpoint) => {
    const found = endpoint.includes('{') ? 404 : 200
    expect(await twice(endpoint)).toEqual([found, found])
  })

  it('is POST /accounts/company_hiring, which keeps its own limit', async () => {
    for (let count = 0; count < 5; count++) expect((await service.ask('accounts.hiring')).status).toBe(200)
    expect((await service.ask('accounts.hiring')).status).toBe(429)
  })

  it.each([{}, { live: true }])('is POST /leads/search with %j', async (live) => {
    expect(await twice('POST /leads/search', { ...requests['leads.search'], ...live })).toEqual([202, 202])
  })

  it('is not POST /leads/search with live: false', async () => {
    const fields = { ...requests['leads.search'], live: false }
    expect(await twice('POST /leads/search', fields)).toEqual([202, 429])
  })

  it.each(
    operations()
      .map(({ method, path }) => `${method} ${path}`)
      .filter((endpoint) => ![...spending, ...inBulk, ...lookups, 'POST /leads/search'].includes(endpoint)),
  )('nothing else is: %s', async (endpoint) => {
    const [first] = [await service.at(endpoint)]
    service.clock.advance(1_000)
    expect([first.status === 429, (await service.at(endpoint)).status]).toEqual([false, 429])
  })
})
