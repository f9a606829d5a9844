import { describe, expect, it } from 'vitest'
import { mayStillSend, type Run, runsOver, stopKilled } from '../../../src/runs/journal/runs.js'
import { purgeRuns } from '../../../src/runs/purge.js'
import { states } from '../../support/states.js'
import { journalFor, newRun } from '../fakes.js'

const day = 86_400_000

describe('a part that lost its run', () => {
  it('may still send rows for a day, and one that did not lose it is over', () => {
    const lost = [day, day, null].map((lostAt) => ({ lostAt }))
    const asked = [2 * day - 1, 2 * day, 2 * day - 1]
    expect(lost.map((run, at) => mayStillSend(run, asked[at] ?? 0))).toEqual([true, false, false])
  })
})

describe.each(states())('%s', (_, open) => {
  const free = () => ({ release: () => {} })
  const rows = [0, 1, 2, 3].map((ordinal) => ({
    ordinal,
    identity: `id ${ordinal}`,
    hash: ordinal,
    repeats: true,
    most: 1,
  }))
  const answer = { status: 'found', error: null, body: {}, credits: 1 } as const

  /** A run that was killed a day after it began, with four rows sent and one answered. */
  async function killed() {
    const driver = await open()
    const runs = runsOver(driver)
    const { id } = await runs.add(newRun({ startedAt: day }))
    const record = async () => (await runs.find(id))[0] as Run
    const part = await journalFor(driver, await record(), { now: () => 2 * day })
    await part.plan(rows)
    await part.keep([{ ...(rows[0] as (typeof rows)[0]), answer, source: 'live' }])
    const other = await runs.add(newRun({ id: 'other', identityKey: 'other', startedAt: 3 * day }))
    const planned = async (now: number) => {
      const journal = await journalFor(driver, other, { budget: { perDay: 6 }, now: () => now })
      return (await journal.plan(rows)).planned.length
    }
    return { driver, runs, record, planned }
  }

  const onlyFirst = ({ number }: { number: number }) => (number === 1 ? free() : undefined)

  describe('a run that was killed', () => {
    it('is marked as stopped at its last sign of life, with its open rows', async () => {
      const { driver, record } = await killed()
      const before = await record()
      await stopKilled(driver, onlyFirst)
      expect(before).toMatchObject({ status: 'running', reserved: 3, sentFrom: 0, sentTo: 4 })
      expect(await record()).toEqual({ ...before, status: 'stopped', endedAt: 2 * day })
    })

    it('counts for the budget of its own day, and of no other', async () => {
      const { driver, planned } = await killed()
      await stopKilled(driver, onlyFirst)
      expect(await planned(2 * day)).toBe(2)
      const again = await killed()
      await stopKilled(again.driver, onlyFirst)
      expect(await again.planned(3 * day)).toBe(4)
    })

    it('is left alone while another process holds its lock', async () => {
      const { driver, record } = await killed()
      await stopKilled(driver, () => undefined)
      expect((await record()).status).toBe('running')
    })

    it('has the age of its last attempt', async () => {
      const { driver, runs, record } = await killed()
      await stopKilled(driver, onlyFirst)
      await runs.begin(await record(), { file: 'in.csv', output: null, request: '{}' }, 9 * day)
      await stopKilled(driver, onlyFirst)
      const options = { now: 10 * day, hold: onlyFirst }
      expect((await purgeRuns(driver, { ...options, before: 8 * day })).runs).toEqual([])
      expect((await purgeRuns(driver, { ...options, before: 10 * day })).runs).toEqual(['run-1'])
    })
  })
})
