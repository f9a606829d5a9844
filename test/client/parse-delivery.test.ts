import { expect, it } from 'vitest'
import { parseDelivery, recordKey, recordOf } from '../../src/client/parse-delivery.js'

const keyOf = (ordinal: unknown) => {
  const event = 'lead_search.record'
  const body = JSON.stringify({ event, ordinal, lead: { id: 'x' } })
  const [found] = parseDelivery('lead_search', { event, body }, undefined).found
  return found && recordKey(found)
}

it('a record is known by its ordinal, the first being 0 or 1, and by its content where that is none', () => {
  expect([0, 1, 2].map(keyOf)).toEqual(['#0', '#1', '#2'])
  const byContent = keyOf(undefined)
  expect(byContent).not.toContain('#')
  expect([-1, 1.5, '1', 2 ** 53, null].map(keyOf)).toEqual(Array.from({ length: 5 }, () => byContent))
})

it('a record has one form, whichever fields its sender puts around it', () => {
  const company = { name: 'Acme' }
  expect(recordOf('account_import', { account_id: 'a', ...company })).toEqual({ id: 'a', ...company })
  expect(recordOf('account_import', company)).toEqual(company)
  expect(recordOf('lead_search', { id: 'x', company })).toEqual({ lead: { id: 'x' }, company })
  expect(recordOf('list_import', { id: 'l', companies: [company], pagination: {} })).toEqual({ id: 'l' })
})
