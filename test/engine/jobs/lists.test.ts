import { expect, it } from 'vitest'
import { perTest } from '../../support/each.js'
import { idOf, openWorked } from '../fake-sender.js'

const lead = { webhook_url: 'https://hook.example/', keyword: 'known', live: false }
const bench = perTest(openWorked)

it('a list is pending, then completed, and limits searches to its companies', async () => {
  const companies = [{ domain: 'known.example' }, { domain: 'nobody.example' }, { name: 'Known' }]
  const { body, status } = await bench.call('lists.create', { name: 'Mine', companies })
  expect(status).toBe(201)
  const id = idOf(body)
  expect((await bench.call('lists.get', { id })).body).toMatchObject({ name: 'Mine', status: 'pending' })
  const asked = { ...lead, included_account_lists: [id] }
  expect(await bench.call('leads.advanced_search', asked)).toMatchObject({ status: 422 })
  expect(await bench.worker.finish(id)).toMatchObject({ state: 'finished', done: 3 })
  expect((await bench.call('lists.list', {})).body).toMatchObject({
    lists: [{ id, status: 'completed' }],
    pagination: { total_count: 1, has_more: false },
  })
  bench.clock.advance(1_000)
  const { body: started } = await bench.call('leads.advanced_search', asked)
  const job = await bench.admin.job(idOf(started))
  expect(job.plan).toMatchObject({
    search: { filters: { included_accounts: ['6b5d2f3e-0000-4000-8000-000000000001'] } },
  })
})
