import { afterEach, beforeEach, expect, it } from 'vitest'
import { type AcceptedWork, openAcceptedWork } from '../support/accepted-work.js'
import { killOverProgress, startCrew } from '../support/killed-workers.js'
import { acceptMixed, expectNothingLost, progressOf } from '../support/mixed-work.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { found, grouped, secondsSince } from './findings.js'
import { recoverySeconds } from './recovery.js'
import { some } from './share.js'

const worker = await bundled('programs/worker.ts')
let work: AcceptedWork

beforeEach(async () => {
  work = await openAcceptedWork()
})

afterEach(() => work.close())

it('P13: workers over 1,000 jobs with deliveries lose nothing in 200 kills', async () => {
  const began = performance.now()
  await acceptMixed(work, some(1_000, 40))
  const crew = startCrew(4, worker, work.file, '1000', '60', '1000000')
  const kills = await killOverProgress(crew, some(200, 5), () => progressOf(work))
  expect(await crew.end()).toEqual([0, 0, 0, 0])
  expect(kills).toBe(some(200, 5))
  const { jobs, records, deliveries, received, twice } = await expectNothingLost(work)
  found({
    promise: 'P13',
    tried: `${grouped(jobs)} jobs, ${kills} kills of 4 workers: ${grouped(records)} records, ${grouped(deliveries)} deliveries`,
    lost: '0 jobs, 0 records, 0 deliveries; ledger and quotas equal to the records',
    measured: `${grouped(received)} received, ${grouped(twice)} of them again; ${secondsSince(began)}`,
  })
})

it('P13: a job whose worker was killed continues within 45 s', async () => {
  const seconds = await recoverySeconds(worker, work)
  expect(seconds).toBeLessThanOrEqual(45)
  found({
    promise: 'P13',
    tried: 'recovery with the usual lease',
    lost: 'nothing',
    measured: `${seconds.toFixed(1)} s (at most 45)`,
  })
})

it('P14: deliveries are made at least once despite 200 kills between commit and send', async () => {
  const began = performance.now()
  const contacts = Array.from({ length: 10 }, (_, at) => ({
    firstname: 'Ada',
    lastname: `${at}`,
    domain: 'a.example',
  }))
  for (let at = 0; at < 60; at++)
    await work.accept('contacts.bulk_enrich', {
      webhook_url: work.receiver.url,
      enrichment_type: ['email'],
      contacts,
    })
  await work.finish()
  let kills = 0
  for (; kills < some(200, 10); kills++) {
    const end = kills % 2 === 0 ? 'before-send' : 'after-send'
    expect(await start(worker, work.file, '300', '0', '0', end).ended).toBeNull()
  }
  const crew = startCrew(1, worker, work.file, '1000', '0', '0')
  await killOverProgress(crew, 0, () => progressOf(work))
  await crew.end()
  const { deliveries, twice } = await expectNothingLost(work)
  found({
    promise: 'P14',
    tried: `${grouped(deliveries)} deliveries, ${kills} processes killed right before or behind a sending`,
    lost: '0 deliveries',
    measured: `${grouped(twice)} received again; ${secondsSince(began)}`,
  })
})
