import { describe, expect, it } from 'vitest'
import type { Run } from '../../src/storage/runs.js'
import { runsOver } from '../../src/storage/runs.js'
import { spendingOver } from '../../src/storage/spending.js'
import { journalFor, newRun } from '../batch/fakes.js'
import { states } from '../helpers/states.js'

describe.each(states)('%s', (_, open) => {
  const day = 86_400_000
  const rows = [0, 1, 2, 3].map((ordinal) => ({
    ...{ ordinal, identity: `id ${ordinal}`, hash: ordinal, repeats: true, most: 1 },
  }))

  /** A run that was killed with four rows sent and none answered, and forgotten a day later. */
  async function forgotten() {
    const driver = await open()
    const runs = runsOver(driver)
    const killed = await runs.add(newRun())
    await (await journalFor(driver, killed, { now: () => day })).plan(rows)
    await runs.forget((await runs.find(killed.id))[0] as Run, 2 * day)
    const other = await runs.add(newRun({ id: 'other', knownBy: 'other' }))
    const planned = async (now: number) => {
      const journal = await journalFor(driver, other, { budget: { perDay: 6 }, now: () => now })
      return (await journal.plan(rows)).planned.length
    }
    return { driver, planned }
  }

  describe('a run that is forgotten after it was killed', () => {
    it('may have paid for what it sent: the budget of that day counts it', async () => {
      expect(await (await forgotten()).planned(2 * day)).toBe(2)
    })

    it('is no matter to the budget of the next day', async () => {
      expect(await (await forgotten()).planned(3 * day)).toBe(4)
    })

    it('is no longer told of as open', async () => {
      const { driver } = await forgotten()
      expect(await spendingOver(driver).open({ profile: undefined, target: undefined })).toBe(0)
    })
  })
})
