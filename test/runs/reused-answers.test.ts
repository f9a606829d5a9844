import { expect, it } from 'vitest'
import { compose } from '../../src/api/calls/caller.js'
import { ApiError } from '../../src/api/calls/errors.js'
import { createPayers } from '../../src/engine/request/payer.js'
import { reusedAnswers } from '../../src/runs/reused-answers.js'
import { openState } from '../../src/storage/state/open.js'
import { perTest } from '../support/each.js'
import { openBench, randomIds } from '../support/engine.js'
import { newFolder } from '../support/new-folder.js'

const bench = perTest(openBench)

it('a program pays for nothing again because the database was away when its key was looked up', async () => {
  await bench.admin.setCredits(10)
  const folder = newFolder()
  let isAway = false
  const find: typeof bench.store.find = (sql, text) => {
    const away = isAway
    isAway = false
    return away
      ? Promise.reject(new ApiError('database_unreachable', { reason: 'it is shutting down' }))
      : bench.store.find(sql, text)
  }
  const sleep = async () => {}
  const payers = createPayers({ ...bench, store: { ...bench.store, find }, sleep })
  const state = folder.at('state.db')
  const { layer, close } = reusedAnswers({
    ...{ clock: bench.clock, database: await openState(state), state, ids: randomIds, sleep },
    isKnown: () => false,
    payerOf: async (key) => {
      const payer = await payers(key)
      return payer && { ...payer, target: 'engine', notBefore: 0 }
    },
  })
  const caller = compose([layer], bench.caller)
  const ask = () => caller.call('accounts.enrich', { domain: 'known.example' }, { apiKey: bench.key })
  const first = await ask()
  isAway = true
  expect((await ask()).status).toBe(503)
  expect((await ask()).body).toEqual(first.body)
  expect(await bench.balance()).toBe(9)
  expect((await caller.call('accounts.enrich', { domain: 'x.example' }, { apiKey: 'pk_no' })).status).toBe(
    401,
  )
  await close()
  folder.remove()
})
