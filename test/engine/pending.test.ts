import { expect, it } from 'vitest'
import { operations } from '../../src/api/table.js'
import { handlerOf } from '../../src/engine/handlers.js'
import { pending } from '../../src/engine/pending.js'
import { openBench } from '../helpers/engine.js'

it('leaves exactly these operations without a handler', () => {
  expect([...pending].sort()).toEqual([
    'accounts.count_profiles',
    'accounts.extract',
    'accounts.headcount',
    'accounts.hiring',
    'accounts.search',
    'accounts.search_preview',
    'accounts.stack',
    'contacts.bulk_enrich',
    'contacts.enrich',
    'contacts.enrich_sync',
    'contacts.get',
    'contacts.get_enrichment',
    'contacts.reverse_lookup',
    'intents.growth',
    'intents.hiring',
    'intents.lookalikes',
    'intents.post_engagers',
    'intents.stack',
    'intents.stack_preview',
    'leads.advanced_search',
    'leads.advanced_search_preview',
    'leads.enrich',
    'leads.extract',
    'leads.search',
    'lists.create',
    'lists.get',
    'lists.list',
    'locations.find',
    'messenger.validate',
    'personas.create',
    'personas.delete',
    'personas.get',
    'personas.list',
    'searches.get',
    'searches.list',
    'titles.suggest',
  ])
})

it('has a handler for every other operation', () => {
  const without = operations().filter(({ id }) => !handlerOf(id))
  expect(without.map(({ id }) => id).sort()).toEqual([...pending].sort())
})

it('answers 501 where there is none, and charges nothing', async () => {
  const bench = await openBench()
  const reply = await bench.call('contacts.reverse_lookup', { email: 'ada@known.example' })
  expect(reply).toMatchObject({ status: 501, body: { error: 'Not implemented' }, credits: 0 })
  expect(await bench.balance()).toBe(1_000)
})
