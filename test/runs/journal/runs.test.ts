import { describe, expect, it } from 'vitest'
import { mayStillSend, type Run, runsOver, stopKilled } from '../../../src/runs/journal/runs.js'
import { countSpent, spendingOver } from '../../../src/runs/journal/spending.js'
import { purgeRuns } from '../../../src/runs/purge.js'
import type { Connection, Driver } from '../../../src/storage/driver/connection.js'
import { states } from '../../support/states.js'
import { foundAnswer, journalFor, journalRow, newRun } from '../fakes.js'

const day = 86_400_000
const rows = [0, 1, 2, 3].map((ordinal) => journalRow(ordinal))
const change = { file: '/in.csv', output: null, request: '{}' }

it('a part that lost its run may still send rows for a day, and one that did not lose it is over', () => {
  const lost = [day, day, null].map((lostAt) => ({ lostAt }))
  const asked = [2 * day - 1, 2 * day, 2 * day - 1]
  expect(lost.map((run, at) => mayStillSend(run, asked[at] ?? 0))).toEqual([true, false, false])
})

describe.each(states())('%s', (_, open) => {
  /** A run that was killed a day after it began, with four rows sent and one answered, and another run. */
  async function killed() {
    const driver = await open()
    const runs = runsOver(driver)
    const { id } = await runs.add(newRun({ startedAt: day }))
    const record = async () => (await runs.find(id))[0] as Run
    const part = await journalFor(driver, await record(), { now: () => 2 * day })
    await part.plan(rows)
    await part.keep([{ ...journalRow(0), answer: foundAnswer({}), source: 'live' }])
    const other = await runs.add(newRun({ id: 'other', identityKey: 'other', startedAt: 3 * day }))
    /** Returns how many rows of the other run a budget of six credits a day permits. */
    const planned = async (now: number) => {
      const journal = await journalFor(driver, other, { budget: { perDay: 6 }, now: () => now })
      return (await journal.plan(rows)).planned.length
    }
    return { driver, runs, record, planned }
  }

  /** Takes the lock of the killed run. */
  const hold = ({ number }: { number: number }) => (number === 1 ? { release: () => {} } : undefined)
  const purge = (driver: Driver, now: number, before = now) => purgeRuns(driver, { before, now, hold })

  describe('a run that was killed', () => {
    it('is marked as stopped at its last sign of life, with its open rows', async () => {
      const { driver, record } = await killed()
      const before = await record()
      await stopKilled(driver, hold)
      expect(before).toMatchObject({ status: 'running', reserved: 3, sentFrom: 0, sentTo: 4 })
      expect(await record()).toEqual({ ...before, status: 'stopped', endedAt: 2 * day })
    })

    it.each<
      [how: string, at: number, left: number, end: (one: Awaited<ReturnType<typeof killed>>) => unknown]
    >([
      ['stopped', 2 * day, 2, ({ driver }) => stopKilled(driver, hold)],
      ['forgotten', 3 * day, 3, async ({ runs, record }) => runs.forget(await record(), 3 * day)],
      ['purged', 3 * day, 3, ({ driver }) => purge(driver, 3 * day)],
    ])('counts, where it is %s, in the budget of that day, and of no other', async (_how, at, left, end) => {
      for (const [now, count] of [
        [at, left],
        [at + day, 4],
      ] as const) {
        const one = await killed()
        await end(one)
        expect(await one.planned(now)).toBe(count)
      }
    })

    it('is open no more when it is forgotten', async () => {
      const { driver, runs, record } = await killed()
      await runs.forget(await record(), 3 * day)
      expect(await spendingOver(driver).open({ profile: undefined, target: undefined })).toBe(0)
    })

    it('is listed no more when it is purged, and deleted by the first purge of another day', async () => {
      const { driver, runs } = await killed()
      expect((await purge(driver, 3 * day)).runs).toEqual(['run-1'])
      expect((await runs.list()).map(({ id }) => id)).toEqual(['other'])
      await purge(driver, 4 * day, 3 * day + 1)
      expect(await driver.read((one) => one.all('SELECT id FROM runs'))).toEqual([{ id: 'other' }])
    })

    it('is left alone while another process holds its lock', async () => {
      const { driver, record } = await killed()
      await stopKilled(driver, () => undefined)
      expect((await record()).status).toBe('running')
      const held = await purgeRuns(driver, { before: 3 * day, now: 3 * day, hold: () => undefined })
      expect(held).toEqual({ runs: [], answers: 0 })
    })

    it('is not purged when it was resumed meanwhile', async () => {
      const { driver, record } = await killed()
      // Behind the look at what is old, and before the lock is there.
      let tx = 0
      const read: Driver['read'] = async (work) => {
        const goesOn = (one: Connection) => one.run('UPDATE runs SET ended_at = ?', 3 * day)
        if (++tx === 3) await driver.transaction(goesOn)
        return driver.read(work)
      }
      const transaction: Driver['transaction'] = (work) => driver.transaction(work)
      expect((await purge({ ...driver, read, transaction }, 3 * day)).runs).toEqual([])
      expect(await record()).toBeDefined()
    })

    it('has the age of its last attempt', async () => {
      const { driver, runs, record } = await killed()
      await stopKilled(driver, hold)
      await runs.begin(await record(), change, 9 * day)
      await stopKilled(driver, hold)
      expect((await purge(driver, 10 * day, 8 * day)).runs).toEqual([])
      expect((await purge(driver, 10 * day)).runs).toEqual(['run-1'])
    })

    it('keeps its reservation on the day of its last sign of life when it is resumed while the clock is behind', async () => {
      const { runs, record } = await killed()
      await runs.begin(await record(), change, day)
      expect(await record()).toMatchObject({ reserved: 3, endedAt: 2 * day })
      await runs.begin(await record(), change, 4 * day)
      expect((await record()).endedAt).toBe(4 * day)
    })
  })

  describe('runs of some rows of a file', () => {
    it('know the last row that is sent together with one before a row', async () => {
      const driver = await open()
      const runs = runsOver(driver)
      const run = await runs.add(newRun())
      const journal = await journalFor(driver, run, {})
      expect(await runs.lastSentTogether(run, 100)).toBe(-1)
      await journal.bulks?.plan(rows, 1)
      expect(await Promise.all([0, 1, 100].map((at) => runs.lastSentTogether(run, at)))).toEqual([-1, 3, 3])
    })

    it('that are samples are found by the identity of the whole file or of each other, on the same target', async () => {
      const runs = runsOver(await open())
      const one = await runs.add(newRun({ id: 'one', identityKey: 'file-sample-5' }))
      await runs.add(newRun({ id: 'whole', identityKey: 'file' }))
      await runs.add(newRun({ id: 'other', identityKey: 'file2-sample-5' }))
      for (const identityKey of ['file', 'file-sample-5', 'file-sample-9'])
        expect((await runs.samplesOf({ ...one, identityKey })).map(({ id }) => id)).toEqual(['one'])
      expect(await runs.samplesOf({ ...one, target: 'elsewhere' })).toEqual([])
    })
  })

  it('a daily budget counts what was spent before the clock went back for one day from now on', async () => {
    const driver = await open()
    const run = await runsOver(driver).add(newRun({ id: 'other', identityKey: 'other' }))
    await driver.transaction((one) => countSpent(one, run, { credits: 4, calls: 4 }, 40 * day))
    const plannedAt = async (now: number) => {
      const journal = await journalFor(driver, run, { budget: { perDay: 4 }, now: () => now })
      return (await journal.plan(rows)).planned.length
    }
    expect([await plannedAt(2 * day), await plannedAt(2.9 * day)]).toEqual([0, 0])
    expect(await plannedAt(3 * day)).toBeGreaterThan(0)
  })

  it('a run beyond the highest run number is refused before anything is paid, and leaves no record', async () => {
    const driver = await open()
    const runs = runsOver(driver)
    const last = 2 ** 21 - 3
    await runs.add(newRun())
    await driver.transaction((one) => one.run(`UPDATE runs SET number = ? WHERE id = 'run-1'`, last))
    if (driver.dialect.name === 'postgres')
      await driver.transaction((one) =>
        one.run(`SELECT setval(pg_get_serial_sequence('runs', 'number'), CAST(? AS BIGINT))`, last),
      )
    expect((await runs.add(newRun({ id: 'last', identityKey: 'last' }))).number).toBe(last + 1)
    const refused = runs.add(newRun({ id: 'none', identityKey: 'none' }))
    await expect(refused).rejects.toMatchObject({ code: 'storage_failed' })
    expect((await runs.list()).map(({ id }) => id)).toEqual(['last', 'run-1'])
  })
})
