import { describe, expect, it } from 'vitest'
import type { JournalOptions } from '../../src/runs/journal/run-journal.js'
import { type Run, runsOver } from '../../src/runs/journal/runs.js'
import { journalFor, newRun } from '../runs/fakes.js'
import { states } from '../support/states.js'

describe.each(states())('%s', (_, open) => {
  const row = (ordinal: number) => ({
    ordinal,
    identity: `id ${ordinal}`,
    hash: ordinal,
    repeats: false,
    most: 1,
    perRecord: undefined,
  })
  const rows = Array.from({ length: 8 }, (_, ordinal) => row(ordinal))
  const answered = (ordinal: number) => ({
    ...row(ordinal),
    answer: { status: 'found', error: null, body: {}, credits: 1 } as const,
    source: 'live' as const,
  })

  async function newRuns() {
    const driver = await open()
    const runs = runsOver(driver)
    const { id } = await runs.add(newRun())
    const record = async () => (await runs.find(id))[0] as Run
    const part = async (budget: JournalOptions['budget'], more: Partial<JournalOptions> = {}) => {
      const journal = await journalFor(driver, await record(), { budget, ...more })
      await journal.resume(0, 10)
      return journal
    }
    return { part, record }
  }

  /** A run that was killed with eight rows sent, of which two were answered and paid. */
  async function killed() {
    const made = await newRuns()
    const first = await made.part({ perRun: 8 })
    await first.plan(rows)
    await first.keep([answered(0), answered(1)])
    return made
  }

  describe('a lower budget for a run that was killed', () => {
    it.each([
      ['run', { perRun: 5 }],
      ['day', { perDay: 5 }],
    ])('of the %s also applies to rows that were sent before', async (kind, budget) => {
      const { part, record } = await killed()
      const second = await part(budget)
      const { planned, shortage } = await second.plan(rows.slice(2))
      expect([planned.length, shortage]).toEqual([3, { budget: kind, credits: 5 }])
      expect((await second.plan(rows.slice(5))).planned).toEqual([])
      await second.keep([2, 3, 4].map(answered))
      expect((await second.plan(rows.slice(5))).planned).toEqual([])
      await second.end({ complete: false, certain: true, cleared: 5, invalid: 0 })
      expect(await record()).toMatchObject({ credits: 5, reserved: 3, sentFrom: 5, sentTo: 8 })
      const third = await part({ perRun: 8, perDay: 8 })
      expect((await third.plan([...rows.slice(5), row(8)])).planned.map(({ row }) => row?.ordinal)).toEqual([
        5, 6, 7,
      ])
    })

    it('sends all open rows again when it is as high as before', async () => {
      const { part } = await killed()
      expect((await (await part({ perRun: 8 })).plan(rows.slice(2))).planned).toHaveLength(6)
    })

    it('sends nothing when all of it is spent', async () => {
      const { part } = await killed()
      expect((await (await part({ perRun: 2 })).plan(rows.slice(2))).planned).toEqual([])
    })

    it('counts rows with an unknown outcome, and permits sending them again', async () => {
      const { part } = await killed()
      const lost = await part({ perRun: 8 }, { mayRepeat: false })
      const unknown = { status: 'failed', error: 'outcome_unknown', body: undefined, credits: 0 } as const
      await lost.keep([
        { ...answered(2), answer: unknown },
        { ...answered(3), answer: unknown },
      ])
      const next = await part({ perRun: 4 }, { mayRepeat: false, retryUnknown: true })
      expect((await next.plan(rows.slice(2))).planned.map(({ row }) => row?.ordinal)).toEqual([2, 3])
    })

    it('does not stop a row whose limit was lowered for the previous budget', async () => {
      const { part } = await newRuns()
      const wanted = [{ ...row(0), most: 100, perRecord: 2 }]
      expect((await (await part({ perRun: 10 })).plan(wanted)).planned[0]?.limit).toBe(5)
      expect((await (await part({ perRun: 10 })).plan(wanted)).planned[0]?.limit).toBe(5)
      expect((await (await part({ perRun: 9 })).plan(wanted)).planned).toEqual([])
    })

    it('applies to rows that were sent as one request, unless the request was accepted', async () => {
      const { part } = await newRuns()
      const first = await part({ perRun: 8 })
      await first.bulks?.plan(rows.slice(0, 4), 2)
      const second = await part({ perRun: 3 })
      const [open] = second.bulks?.open() ?? []
      if (!open) throw new Error('nothing is open')
      const shortage = await second.bulks?.reopen(open, rows.slice(0, 4))
      expect(shortage).toEqual({ budget: 'run', credits: 3 })
      expect(await (await part({ perRun: 4 })).bulks?.reopen(open, rows.slice(0, 4))).toBeUndefined()
      await first.bulks?.accept(open, { id: 'bulk', parts: [] })
      const third = await part({ perRun: 3 })
      const [accepted] = third.bulks?.open() ?? []
      expect(accepted && (await third.bulks?.reopen(accepted, rows.slice(0, 4)))).toBeUndefined()
    })
  })

  describe('rows that were sent as one request', () => {
    it('are open until the last of them is answered, however their answers come', async () => {
      const { part } = await newRuns()
      const first = await part({})
      await first.bulks?.plan(rows.slice(0, 4), 2)
      for (const [portion, open] of [
        [[0], 1],
        [[1, 2], 1],
        [[3], 0],
      ] as const) {
        await first.keep(portion.map(answered))
        expect((await part({})).bulks?.open()).toHaveLength(open)
      }
    })
  })
})
