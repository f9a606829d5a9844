import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { killedBatch } from '../helpers/killed-batch.js'
import { expectNothingLost } from '../helpers/nothing-lost.js'
import { bundled } from '../helpers/processes.js'
import { found, grouped, secondsSince } from './findings.js'

let program: string

beforeAll(async () => {
  program = await bundled('programs/killed-batch.ts')
})

afterAll(() => rmSync(program))

it('P19: 200 kills of a run of 10,000 rows', async () => {
  const began = performance.now()
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const survived = await killedBatch(program, { rows: 10_000, kills: 200, seed })
  expect(survived.kills).toBe(200)
  expectNothingLost(survived)
  found({
    promise: 'P19',
    tried: `${grouped(survived.rows.length)} rows, ${survived.kills} kills (seed ${seed})`,
    lost: '0 rows lost, 0 doubled; the ledger is the price of each company found, once',
    measured: `${grouped(survived.spent)} credits; ${secondsSince(began)}`,
  })
})
