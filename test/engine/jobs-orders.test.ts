import fc from 'fast-check'
import { it } from 'vitest'
import { inAnyOrder } from '../support/any-order.js'

it('P42: in whatever order sources and receivers answer, every balance seen adds up', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler(), inAnyOrder), { numRuns: 60 })
})
