import { describe, expect, it } from 'vitest'
import { type Run, runsOver } from '../../../src/runs/journal/runs.js'
import { countSpent, spendingOver } from '../../../src/runs/journal/spending.js'
import { toPlace, toRunNumber } from '../../../src/storage/driver/connection.js'
import { states } from '../../support/states.js'
import { journalFor, newRun } from '../fakes.js'

describe('the key of a row', () => {
  it('is unique to its run and row, or refused', () => {
    const last = 2 ** 21 - 1
    expect([toPlace(last, 0), toRunNumber(toPlace(last, 7))]).toEqual([last * 2 ** 32, last])
    expect(() => toPlace(last + 1, 0)).toThrow(expect.objectContaining({ code: 'storage_failed' }))
  })
})

describe.each(states())('%s', (_, open) => {
  const day = 86_400_000
  const rows = [0, 1, 2, 3].map((ordinal) => ({
    ordinal,
    identity: `id ${ordinal}`,
    hash: ordinal,
    repeats: true,
    most: 1,
  }))

  /** A run that was killed with four rows sent and none answered, and forgotten a day later. */
  async function forgotten() {
    const driver = await open()
    const runs = runsOver(driver)
    const killed = await runs.add(newRun())
    await (await journalFor(driver, killed, { now: () => day })).plan(rows)
    await runs.forget((await runs.find(killed.id))[0] as Run, 2 * day)
    const other = await runs.add(newRun({ id: 'other', identityKey: 'other' }))
    const planned = async (now: number) => {
      const journal = await journalFor(driver, other, { budget: { perDay: 6 }, now: () => now })
      return (await journal.plan(rows)).planned.length
    }
    return { driver, planned }
  }

  describe('a run that is forgotten after it was killed', () => {
    it('still counts what it sent in the budget of that day', async () => {
      expect(await (await forgotten()).planned(2 * day)).toBe(2)
    })

    it('does not count in the budget of the next day', async () => {
      expect(await (await forgotten()).planned(3 * day)).toBe(4)
    })

    it('is no longer counted as open', async () => {
      const { driver } = await forgotten()
      expect(await spendingOver(driver).open({ profile: undefined, target: undefined })).toBe(0)
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

  describe('a daily budget after the clock went back', () => {
    it('counts what was spent in the day of then for one day from now on', async () => {
      const driver = await open()
      const runs = runsOver(driver)
      const run = await runs.add(newRun({ id: 'other', identityKey: 'other' }))
      await driver.transaction((connection) =>
        countSpent(connection, run, { credits: 4, calls: 4 }, 40 * day),
      )
      const plannedAt = async (now: number) => {
        const journal = await journalFor(driver, run, { budget: { perDay: 4 }, now: () => now })
        return (await journal.plan(rows)).planned.length
      }
      expect([await plannedAt(2 * day), await plannedAt(2.9 * day)]).toEqual([0, 0])
      expect(await plannedAt(3 * day)).toBeGreaterThan(0)
    })
  })

  describe('a run beyond the highest run number', () => {
    it('is refused before anything is paid, and leaves no record', async () => {
      const driver = await open()
      const runs = runsOver(driver)
      const add = (number: number) =>
        driver.transaction((c) => c.run(`UPDATE runs SET number = ? WHERE id = 'run-1'`, number))
      await runs.add(newRun())
      await add(2 ** 21 - 3)
      if (driver.dialect.name === 'postgres')
        await driver.transaction((c) =>
          c.run(`SELECT setval(pg_get_serial_sequence('runs', 'number'), CAST(? AS BIGINT))`, 2 ** 21 - 3),
        )
      expect((await runs.add(newRun({ id: 'last', identityKey: 'last' }))).number).toBe(2 ** 21 - 2)
      const refused = runs.add(newRun({ id: 'none', identityKey: 'none' }))
      await expect(refused).rejects.toMatchObject({ code: 'storage_failed' })
      expect((await runs.list()).map(({ id }) => id)).toEqual(['last', 'run-1'])
    })
  })

  describe('a run that is resumed while the clock is behind', () => {
    it('keeps its reservation on the day of its last sign of life', async () => {
      const driver = await open()
      const runs = runsOver(driver)
      const killed = await runs.add(newRun({ startedAt: 3 * day }))
      await (await journalFor(driver, killed, { now: () => 3 * day })).plan(rows)
      const record = async () => (await runs.find(killed.id))[0] as Run
      await runs.begin(await record(), { file: '/in.csv', output: null, request: '{}' }, 2 * day)
      expect(await record()).toMatchObject({ reserved: 4, endedAt: 3 * day })
      await runs.begin(await record(), { file: '/in.csv', output: null, request: '{}' }, 4 * day)
      expect((await record()).endedAt).toBe(4 * day)
    })
  })
})
