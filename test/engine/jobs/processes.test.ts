import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { readBalances } from '../../../src/engine/credits/ledger.js'
import { createEngine } from '../../../src/engine/request/engine.js'
import { countRecords } from '../../../src/engine/tables/jobs.js'
import { type AcceptedWork, openAcceptedWork } from '../../support/accepted-work.js'
import { places } from '../../support/databases.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { expireLeases, randomIds, TestSource } from '../../support/engine.js'
import { acceptMixed, expectNothingLost, progressOf } from '../../support/mixed-work.js'
import { start, startCrew } from '../../support/processes.js'
import { bundled } from '../../support/programs.js'
import { until } from '../../support/until.js'

let worker: string
let accepting: string
beforeAll(async () => {
  ;[worker, accepting] = await Promise.all([
    bundled('programs/worker.ts'),
    bundled('programs/worker-accept.ts'),
  ])
})

const leaseMs = '1500'

/** How often a test kills or freezes: as `PROSPECT_TEST_KILLS` or `PROSPECT_TEST_FREEZES` says, to look for longer. */
const often = (what: 'KILLS' | 'FREEZES', few: number, many: number): number =>
  Number(process.env[`PROSPECT_TEST_${what}`] ?? tries(few, many))

/** Kills workers so many times, evenly over the progress of their work, until all of that is done. Returns how often. */
async function killOverProgress(crew: ReturnType<typeof startCrew>, kills: number, work: AcceptedWork) {
  let killed = 0
  for (let done = await progressOf(work); done < 1; done = await progressOf(work)) {
    if (done > (killed + 0.5) / (kills + 1) && killed < kills) {
      await crew.kill()
      killed++
    } else await pause(20)
  }
  return killed
}

/** Accepted work in a database that its workers share. */
async function workIn([, open]: (typeof places)[number]): Promise<AcceptedWork> {
  const { location, drop } = await open()
  const work = await openAcceptedWork(location)
  const close = async () => {
    await work.close()
    await drop()
  }
  return { ...work, close }
}

describe.each(places)('P13, P44: workers that are killed, over %s', (...place) => {
  const work = perTest(() => workIn(place))

  it('lose no job and store no record twice', async () => {
    const killings = often('KILLS', 1, 6)
    const jobs = Math.max(tries(5, 100), killings)
    const size = tries(2, 4)
    await acceptMixed(work, jobs)
    const crew = startCrew(size, worker, work.file, leaseMs, '40', '1000000')
    const kills = await killOverProgress(crew, killings, work)
    expect(await crew.end()).toEqual(Array(size).fill(0))
    expect(kills).toBe(killings)
    expect(await expectNothingLost(work)).toMatchObject({ jobs })
  })

  it('lose no job and store no record twice where they freeze for longer than their lease', async () => {
    const freezes = often('FREEZES', 1, 6)
    await acceptMixed(work, Math.max(tries(5, 50), 2 * freezes))
    const crew = [1, 2, 3].map(() => start(worker, work.file, leaseMs, '40', '1000000'))
    let frozen = 0
    for (let done = await progressOf(work); done < 1; done = await progressOf(work)) {
      const one = crew[frozen % 2]?.child
      // A job that is taken up again and again without going on is given up, as the one that ends its workers.
      const goesOn = (await work.jobs()).every(({ state, attempts }) => state !== 'running' || attempts === 0)
      if (done > (frozen + 0.5) / (freezes + 1) && frozen < freezes && goesOn) {
        frozen++
        one?.kill('SIGSTOP')
        await pause(2 * Number(leaseMs))
        one?.kill('SIGCONT')
        // More to do, so that the last one of them also loses something.
        if ((await progressOf(work)) > 0.9 && frozen < freezes) await acceptMixed(work, 10)
      } else await pause(20)
    }
    expect(await Promise.all(crew.map(({ stop }) => stop()))).toEqual([0, 0, 0])
    expect(frozen).toBe(freezes)
    await expectNothingLost(work)
  })

  it('lose nothing to a worker that froze and lost its job', async () => {
    const input = { webhook_url: work.receiver.url, keyword: 'known', limit: 1_000 }
    const id = await work.accept('accounts.search', input)
    const first = start(worker, work.file, leaseMs, '40', '1000000')
    await until(async () => (await work.admin.job(id)).done > 0)
    first.child.kill('SIGSTOP')
    const { done: before, token } = await work.admin.job(id)
    const second = start(worker, work.file, leaseMs, '40', '1000000')
    await until(async () => (await work.admin.job(id)).token !== token)
    first.child.kill('SIGCONT')
    // The job, and then what it says of itself to the receiver.
    await until(async () => (await progressOf(work)) >= 1)
    expect(await work.admin.job(id)).toMatchObject({ state: 'finished', done: 1_000 })
    expect(before).toBeLessThan(1_000)
    expect(await work.store.read((tx) => countRecords(tx, id))).toBe(1_000)
    for (const { child, ended } of [first, second]) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
    await expectNothingLost(work)
  })
})

// In PostgreSQL, too, with --long.
describe.each(places.slice(0, tries(1, 2)))('over %s', (...place) => {
  const work = perTest(() => workIn(place))

  describe('P13: workers that are asked to stop', () => {
    it('stop soon, and others continue their work', async () => {
      const id = await work.accept('accounts.search', {
        webhook_url: work.receiver.url,
        keyword: 'known',
        limit: 3_000,
      })
      const running = start(worker, work.file, '30000', '30', '1000000')
      await until(async () => (await work.admin.job(id)).done > 0)
      const began = performance.now()
      running.child.kill('SIGTERM')
      expect(await running.ended).toBe(0)
      expect(performance.now() - began).toBeLessThan(15_000)
      expect(await work.admin.job(id)).toMatchObject({ state: 'running', attempts: 0 })
      await work.finish()
      expect(await work.admin.job(id)).toMatchObject({ state: 'finished', done: 3_000 })
    })
  })

  describe('P14: workers that are killed around a sending', () => {
    it.each(['before-send', 'after-send'])('deliver everything at least once: %s', async (end) => {
      const webhook_url = work.receiver.url
      const [jobs, contacts] = [6, 3]
      for (let at = 0; at < jobs; at++)
        await work.accept('contacts.bulk_enrich', {
          webhook_url,
          enrichment_type: ['email'],
          contacts: Array.from({ length: contacts }, (_, one) => ({
            firstname: 'Ada',
            lastname: `${one}`,
            domain: 'a.example',
          })),
        })
      await work.finish()
      for (let kill = 0; kill < tries(1, 4); kill++)
        expect(await start(worker, work.file, leaseMs, '0', '0', end).ended).toBeNull()
      const crew = startCrew(1, worker, work.file, leaseMs, '0', '0')
      await killOverProgress(crew, 0, work)
      await crew.end()
      const { deliveries, twice } = await expectNothingLost(work)
      expect(deliveries).toBe(jobs * contacts)
      if (end === 'after-send') expect(twice).toBeGreaterThan(0)
    })
  })

  describe('P09: a process that is killed while it accepts work', () => {
    const points = ['in1', 'after1', 'in2', 'after2']
    const input = { webhook_url: 'https://hook.example/', stacks: ['react'] }

    it('accepts the work once when it is killed at any point and asked again with the same key', async () => {
      const rounds = Array.from({ length: tries(4, 12) }, (_, at) => ({
        key: `key ${at}`.replace(' ', '-'),
        point: points[at % 4],
      }))
      const killed = async ({ key, point = '' }: (typeof rounds)[number]) => {
        expect(await start(accepting, work.file, work.key, key, point).ended).toBeNull()
      }
      for (let at = 0; at < rounds.length; at += 4) await Promise.all(rounds.slice(at, at + 4).map(killed))
      const before = await work.jobs()
      expect(before).toHaveLength(rounds.length / 4)
      const source = new TestSource()
      source.matches = 3
      await expireLeases(work.store)
      const clock = { now: () => Date.now() }
      const engine = createEngine({ store: work.store, source, ids: randomIds, clock })
      const ids = new Set<unknown>()
      for (const { key, point } of rounds) {
        const again = () => engine.call('intents.stack', input, { apiKey: work.key, idempotencyKey: key })
        const [first, second] = [await again(), await again()]
        expect([first.status, second.body]).toEqual([202, first.body])
        expect(first.headers['idempotent-replayed']).toBe(point === 'after2' ? 'true' : undefined)
        ids.add((first.body as { id: string }).id)
      }
      const jobs = await work.jobs()
      expect(new Set(jobs.map(({ id }) => id))).toEqual(ids)
      expect(jobs).toHaveLength(rounds.length)
      expect((await work.store.read((tx) => readBalances(tx, work.workspaceId))).held).toBe(rounds.length * 9)
      expect((await work.admin.verify()).problems).toEqual([])
    })
  })
})
