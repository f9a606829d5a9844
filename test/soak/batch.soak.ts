import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { batchOnBadDisks } from '../helpers/bad-disks.js'
import { killedBatch } from '../helpers/killed-batch.js'
import { expectNothingLost } from '../helpers/nothing-lost.js'
import { bundled } from '../helpers/processes.js'
import { found, grouped, secondsSince } from './findings.js'

let program: string
let prospect: string

beforeAll(async () => {
  program = await bundled('programs/killed-batch.ts')
  prospect = await bundled('programs/prospect.ts')
})

afterAll(() => {
  for (const file of [program, prospect]) rmSync(file)
})

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

it('P20: a disk that is full, or broken, at any point of a run', async () => {
  const began = performance.now()
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const { survived, tried, notRun } = await batchOnBadDisks(prospect, { rows: 3_000, rounds: 20, seed })
  expectNothingLost(survived)
  found({
    promise: 'P20',
    tried: `${tried} (seed ${seed})${notRun === '' ? '' : `; not run: ${notRun}`}`,
    lost: 'no output under its name before it was complete; 0 rows lost, 0 paid twice',
    measured: secondsSince(began),
  })
})
