import fc from 'fast-check'
import { it } from 'vitest'
import { inAnyOrder } from '../support/any-order.js'
import { runBank } from '../support/bank.js'
import { bundled } from '../support/programs.js'
import { found, grouped, secondsSince } from './findings.js'
import { some } from './share.js'

const program = await bundled('programs/worker-bank.ts')

it('P42: readers always see the same total while credits move between workspaces, for a minute of kills', async () => {
  const { transfers, looks, kills } = await runBank(program, { ms: some(60_000, 5_000), kills: some(60, 5) })
  found({
    promise: 'P42',
    tried: `${grouped(transfers)} transfers by 4 processes, ${kills} of them killed; ${grouped(looks)} looks by 4 others`,
    lost: '0 looks at another total, a gap or a negative balance',
  })
})

it('P42: balances add up in 1,000 orders of answers from sources and receivers', async () => {
  const began = performance.now()
  const numRuns = some(1_000, 50)
  await fc.assert(fc.asyncProperty(fc.scheduler(), inAnyOrder), { numRuns })
  found({
    promise: 'P42',
    tried: `${grouped(numRuns)} orders of answers to lookups, imports and two workers at once`,
    lost: '0 balances that do not add up',
    measured: secondsSince(began),
  })
})
