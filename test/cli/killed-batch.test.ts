import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { killedBatch } from '../support/killed-batch.js'
import { expectNothingLost } from '../support/nothing-lost.js'
import { bundled } from '../support/processes.js'

let program: string
beforeAll(async () => {
  program = await bundled('programs/killed-batch.ts')
})
afterAll(() => rmSync(program))

it('resumes a run of 1,000 rows that was killed 10 times, losing nothing and paying nothing twice', async () => {
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const survived = await killedBatch(program, { rows: 1_000, kills: 10, seed })
  expect([survived.kills, `PROSPECT_TEST_SEED=${seed}`]).toEqual([10, expect.any(String)])
  expectNothingLost(survived)
})
