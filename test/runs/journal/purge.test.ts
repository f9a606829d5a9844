import { describe, expect, it } from 'vitest'
import type { JournalOptions } from '../../../src/runs/journal/run-journal.js'
import { type Run, runsOver } from '../../../src/runs/journal/runs.js'
import { purgeRuns } from '../../../src/runs/purge.js'
import type { Connection, Driver } from '../../../src/storage/driver/connection.js'
import { states } from '../../support/states.js'
import { journalFor, newRun } from '../fakes.js'

describe.each(states())('%s', (_, open) => {
  const day = 86_400_000
  const now = 20 * day + 1_000
  const free = () => ({ release: () => {} })

  const wanted = Array.from({ length: 10 }, (_, ordinal) => ({
    ordinal,
    identity: undefined,
    hash: undefined,
    repeats: false,
    most: 1,
  }))

  /** Plans ten rows of a run with a budget of ten credits a day; answers how many may be sent. */
  async function plannedBy(driver: Driver, id: string, moment: number, startedAt = moment) {
    const runs = runsOver(driver)
    await runs.add(newRun({ id, identityKey: id, startedAt }))
    const options: Partial<JournalOptions> = { now: () => moment, budget: { perDay: 10 } }
    const journal = await journalFor(driver, (await runs.find(id))[0] as Run, options)
    return (await journal.plan(wanted)).planned.length
  }

  describe('purging a run that was killed', () => {
    it('still counts what it may have spent in the budget of that day, and not of the next', async () => {
      const driver = await open()
      expect(await plannedBy(driver, 'killed', now, now - day)).toBe(10)
      const { runs } = await purgeRuns(driver, { before: now + 1, now, hold: free })
      expect(runs).toEqual(['killed'])
      expect(await runsOver(driver).list()).toEqual([])
      expect(await plannedBy(driver, 'next', now)).toBe(0)
      expect(await plannedBy(driver, 'tomorrow', now + day)).toBe(10)
      await purgeRuns(driver, { before: now + day, now: now + day, hold: free })
      expect(await driver.read((one) => one.all('SELECT id FROM runs ORDER BY id'))).toEqual([
        { id: 'tomorrow' },
      ])
    })

    it('skips it while its lock is held, and keeps it when it was resumed meanwhile', async () => {
      const driver = await open()
      await plannedBy(driver, 'killed', now, now - day)
      const held = await purgeRuns(driver, { before: now + 1, now, hold: () => undefined })
      expect(held).toEqual({ runs: [], answers: 0 })
      // Behind the look at what is old, and before the lock is there.
      let tx = 0
      const read: Driver['read'] = async (work) => {
        const goesOn = (one: Connection) => one.run('UPDATE runs SET ended_at = ?', now + 1)
        if (++tx === 3) await driver.transaction(goesOn)
        return driver.read(work)
      }
      const transaction: Driver['transaction'] = (work) => driver.transaction(work)
      const options = { before: now + 1, now, hold: free }
      const purged = await purgeRuns({ ...driver, read, transaction }, options)
      expect(purged.runs).toEqual([])
      expect(await runsOver(driver).list()).toHaveLength(1)
    })
  })
})
