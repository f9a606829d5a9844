import { expect, it } from 'vitest'
import { operation } from '../../../src/api/operations/table.js'
import { affordable } from '../../../src/engine/credits/cost.js'

it.each([
  ['all of a request that costs no more', 30, 30, { credits: 30, limit: undefined }],
  ['as many whole companies as it suffices for', 30, 10, { credits: 9, limit: 3 }],
  ['so many of a request without a limit', null, 8, { credits: 6, limit: 2 }],
  ['nothing where it suffices for none', 30, 2, undefined],
])('a budget pays for %s, at three credits a company', (_, most, budget, expected) => {
  expect(affordable(operation('intents.stack'), most, budget)).toEqual(expected)
})

it('a budget that does not suffice for all of a list pays for nothing of it: the service takes no limit for one', () => {
  expect(affordable(operation('accounts.bulk_enrich'), 5, 3)).toBeUndefined()
})
