import fc from 'fast-check'
import { it } from 'vitest'
import { inAnyOrder } from '../support/any-order.js'
import { tries } from '../support/effort.js'

it('P42: balances add up in every order of answers from sources and receivers', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler(), inAnyOrder), { numRuns: tries(20, 60, 1_000) })
})
