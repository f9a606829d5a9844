import { expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { createProxiedWork, passedResults } from '../../src/client/proxied-work.js'
import { answering } from '../support/answering.js'
import { notingLedger } from './serving.js'

const record = (at: number) => ({ domain: `a${at}.example` })

/** What passes in a delivery of a search `s`. */
const passed = (operation: OperationId, event: string, body: object, search: string | null = 's') =>
  passedResults({
    operation,
    delivery: { event, body: JSON.stringify(body), search, path: '/hook' },
    names: undefined,
  })

it('a record in a delivery is called after its search, or after the path where no search is known', () => {
  const one = { ordinal: 7, ...record(1) }
  const nameIn = (search: string | null) =>
    passed('intents.hiring', 'hiring_import.record', one, search).records
  expect(nameIn('s')).toEqual([{ record: 's #7', credits: 1 }])
  expect(nameIn(null)).toEqual([{ record: '/hook #7', credits: 1 }])
})

it.each([
  ['after the id that the reply says', { id: 'own' }, 'own #7'],
  ['after the id that was asked for where the reply says none', {}, 'asked #7'],
])('a record in the reply about a search is called %s', async (_, named, name) => {
  const { ledger, noted } = notingLedger('intents.hiring')
  const onError = (error: unknown) => expect(error).toBeUndefined()
  const work = createProxiedWork(ledger, onError, undefined)
  const body = { search: { ...named, status: 'FINISHED' }, accounts: [{ ordinal: 7, ...record(1) }] }
  await work.layer(answering({ body })).call('searches.get', { id: 'asked' })
  expect(noted.filter(([what]) => what === 'count').map(([, , , records]) => records)).toEqual([
    [{ record: name, credits: 1 }],
  ])
})

it.each([
  ['all its records in one part', 'hiring_import.completed', { accounts: [record(1), record(2)] }, [2]],
  ['its first part of several', 'hiring_import.completed', { accounts: [record(1)], part: 1, parts: 2 }, []],
  ['a part with the total', 'hiring_import.completed', { accounts: [record(1)], parts: 2, total: 5 }, [5]],
  ['no records and no total', 'hiring_import.completed', { accounts: [] }, []],
  ['one record, though with a total', 'hiring_import.record', { ...record(1), total: 5 }, []],
  ['a failure without a total', 'hiring_import.failed', {}, []],
])('a search ends at its cost with a delivery that holds it: %s', (_, event, body, costs) => {
  expect(passed('intents.hiring', event, body).finished.map(({ credits }) => credits)).toEqual(costs)
})

it.each([
  ['that of the bulk enrichment it belongs to', 's', ['one', 's']],
  ['no other', null, ['one']],
])('a delivered contact is noted under its own id and %s', (_, search, ids) => {
  const contact = { enrichment_id: 'one', status: 'pending' }
  expect(passed('contacts.enrich', 'contact_enrichment.updated', contact, search).ids).toEqual(ids)
})

it('an enrichment that failed ends at no cost', () => {
  expect(passed('contacts.enrich', 'contact_enrichment.failed', {}).finished).toMatchObject([{ credits: 0 }])
})

it('records of a search that costs a credit each are counted, and those of one that costs none are not', async () => {
  const { ledger, noted } = notingLedger()
  const onError = (error: unknown) => expect(error).toBeUndefined()
  const work = createProxiedWork(ledger, onError, undefined)
  const body = JSON.stringify(record(1))
  for (const [id, event] of [
    ['intents.hiring', 'hiring_import.record'],
    ['leads.search', 'lead_search.record'],
    // Of work that somebody else started.
    [undefined, 'hiring_import.record'],
  ] as const)
    await work.recordDelivery(id, { event, body, search: 's', path: '/hook' })
  expect(noted).toEqual([['count', 'intents.hiring', expect.anything(), [expect.anything()]]])
})

it('an enrichment that found nothing is finished and counts no record, so that nothing keeps a later find from its cost', async () => {
  const { ledger, noted } = notingLedger()
  const onError = (error: unknown) => expect(error).toBeUndefined()
  const work = createProxiedWork(ledger, onError, undefined)
  const body = JSON.stringify({ enrichment_id: 'e', status: 'finished', email: null })
  const event = 'contact_enrichment.completed'
  await work.recordDelivery('contacts.enrich', { event, body, search: 'e', path: '/hook' })
  expect(noted.map(([what]) => what)).toEqual(['finish'])
})
