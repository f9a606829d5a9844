import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tries } from '../support/effort.js'
import { killedBatch } from '../support/killed-batch.js'
import { expectNothingLost } from '../support/nothing-lost.js'
import { bundled } from '../support/processes.js'

let program: string
beforeAll(async () => {
  program = await bundled('programs/killed-batch.ts')
})
afterAll(() => rmSync(program))

const kills = tries(3, 10)

it('resumes a run of 1,000 rows that was killed several times, losing nothing and paying nothing twice', async () => {
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const survived = await killedBatch(program, { rows: 1_000, kills, seed })
  expect([survived.kills, `PROSPECT_TEST_SEED=${seed}`]).toEqual([kills, expect.any(String)])
  expectNothingLost(survived)
})
