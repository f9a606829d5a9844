import { expect, it } from 'vitest'
import { operations } from '../../src/api/table.js'
import { handlerOf } from '../../src/engine/handlers.js'
import { pending } from '../../src/engine/pending.js'
import { openBench } from '../helpers/engine.js'

it('leaves exactly these operations without a handler', () => {
  expect([...pending].sort()).toEqual([
    'accounts.extract',
    'accounts.search',
    'accounts.search_preview',
    'contacts.bulk_enrich',
    'contacts.enrich',
    'contacts.enrich_sync',
    'contacts.get',
    'contacts.get_enrichment',
    'intents.growth',
    'intents.hiring',
    'intents.lookalikes',
    'intents.post_engagers',
    'intents.stack',
    'intents.stack_preview',
    'leads.advanced_search',
    'leads.advanced_search_preview',
    'leads.extract',
    'leads.search',
    'lists.create',
    'lists.get',
    'lists.list',
    'locations.find',
    'searches.get',
    'searches.list',
  ])
})

it('has a handler for every other operation', () => {
  const without = operations().filter(({ id }) => !handlerOf(id))
  expect(without.map(({ id }) => id).sort()).toEqual([...pending].sort())
})

it('answers 501 where there is none, and charges nothing', async () => {
  const bench = await openBench()
  const reply = await bench.call('contacts.enrich_sync', {
    network_url: 'https://www.network.example/in/ada',
    enrichment_type: ['email'],
  })
  expect(reply).toMatchObject({ status: 501, body: { error: 'Not implemented' }, credits: 0 })
  expect(await bench.balance()).toBe(1_000)
})
