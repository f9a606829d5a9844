import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { countRecords } from '../../src/engine/tables/jobs.js'
import { type AcceptedWork, openAcceptedWork } from '../support/accepted-work.js'
import { tries } from '../support/effort.js'
import { killOverProgress, startCrew } from '../support/killed-workers.js'
import { acceptMixed, expectNothingLost, progressOf } from '../support/mixed-work.js'
import { freshSchema, type TestDatabase } from '../support/postgres.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'

const leaseMs = '1500'

const program = await bundled('programs/worker.ts')
let schema: TestDatabase
let work: AcceptedWork

beforeEach(async () => {
  schema = await freshSchema()
  work = await openAcceptedWork(schema.url)
})

afterEach(async () => {
  await work.close()
  await schema.drop()
})

describe('workers on several nodes and one PostgreSQL', () => {
  it('P13, P44: lose no job and store no record twice although they are killed', async () => {
    const [jobs, kills] = [tries(5, 40), tries(1, 3)]
    const size = tries(2, 3)
    await acceptMixed(work, jobs)
    const crew = startCrew(size, program, work.file, leaseMs, '20', '1000000')
    expect(await killOverProgress(crew, kills, () => progressOf(work))).toBe(kills)
    expect(await crew.end()).toEqual(Array(size).fill(0))
    expect(await expectNothingLost(work)).toMatchObject({ jobs })
  })

  it('P44: lose nothing to a worker that froze and lost its job', async () => {
    const input = { webhook_url: work.receiver.url, keyword: 'known', limit: 1_000 }
    const id = await work.accept('accounts.search', input)
    const first = start(program, work.file, leaseMs, '40', '1000000')
    while ((await work.admin.job(id)).done === 0) await pause(20)
    first.child.kill('SIGSTOP')
    const { done: before, token } = await work.admin.job(id)
    const second = start(program, work.file, leaseMs, '40', '1000000')
    while ((await work.admin.job(id)).token === token) await pause(20)
    first.child.kill('SIGCONT')
    // The job, and then what it says of itself to the receiver.
    while ((await progressOf(work)) < 1) await pause(20)
    const job = await work.admin.job(id)
    expect(job).toMatchObject({ state: 'finished', done: 1_000 })
    expect(before).toBeLessThan(1_000)
    expect(await work.store.read((tx) => countRecords(tx, id))).toBe(1_000)
    for (const { child, ended } of [first, second]) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
    await expectNothingLost(work)
  })
})
