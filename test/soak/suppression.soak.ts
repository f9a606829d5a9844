import { it } from 'vitest'
import { expectNobodyLeaks, inMemory } from '../support/suppressed-histories.js'
import { found, grouped, secondsSince } from './findings.js'
import { seedOf, some } from './share.js'

it('a suppressed person is in nothing that is written after it', async () => {
  const began = performance.now()
  const [histories, seed] = [some(2_000), seedOf()]
  await expectNobodyLeaks(histories, inMemory, seed)
  found({
    promise: 'Suppression',
    tried: `${grouped(histories)} histories (seed ${seed})`,
    lost: 'Nobody who was suppressed was written; forgotten people left hashes only',
    measured: secondsSince(began),
  })
})
