import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashNumber, hashOf } from '../../../src/csv/identity-filter.js'
import type { AnsweredRow, JournalRow } from '../../../src/runs/journal/journal.js'
import { type RowAnswer, unknownAnswer } from '../../../src/runs/journal/journal.js'
import type { Journal, JournalOptions } from '../../../src/runs/journal/run-journal.js'
import { type Run, runsOver } from '../../../src/runs/journal/runs.js'
import { spendingOver } from '../../../src/runs/journal/spending.js'
import type { Driver } from '../../../src/storage/driver/connection.js'
import { tries } from '../../support/effort.js'
import { states } from '../../support/states.js'
import { journalFor, newJournal, newRun } from '../fakes.js'

describe.each(states())('%s', (name, open) => {
  const row = (ordinal: number, identity = `id ${ordinal}`): JournalRow => ({
    ordinal,
    identity,
    hash: hashNumber(hashOf(identity)),
    repeats: true,
    most: 1,
  })

  const found = (name: unknown): RowAnswer => ({ status: 'found', error: null, body: { name }, credits: 1 })
  const failed: RowAnswer = { status: 'failed', error: 'down', body: undefined, credits: 0 }

  const answered = (one: JournalRow, answer: RowAnswer = found(one.ordinal)): AnsweredRow => ({
    ...one,
    answer,
    source: 'live',
  })

  /** A run in a database of its own, which is opened once for each of its parts. */
  async function newParts(options: Partial<JournalOptions> = {}) {
    const driver = await open()
    const runs = runsOver(driver)
    const { id } = await runs.add(newRun())
    const record = async () => (await runs.find(id))[0] as Run
    const part = async (more: Partial<JournalOptions> = {}) =>
      journalFor(driver, await record(), { ...options, ...more })
    return { driver, runs, record, part }
  }

  const end = (journal: Journal, cleared: number, complete = false) =>
    journal.end({ complete, certain: true, cleared, invalid: 0 })

  describe('duplicate rows', () => {
    it('get the first answer of their identity, whether it is in memory or in the index', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.uniqueArray(fc.nat({ max: 60 }), { minLength: 1, maxLength: 12 }), { maxLength: 12 }),
          fc.integer({ min: 1, max: 30 }),
          async (portions, window) => {
            const journal = await newJournal({ window }, await open())
            const kept = new Map<string, number>()
            let ordinal = 0
            for (const portion of portions) {
              const rows = portion.map((pick) => row(ordinal++, `id ${pick}`))
              const recalled = await journal.recall(rows)
              rows.forEach(({ identity = '' }, at) => {
                const first = kept.get(identity)
                expect(recalled[at]?.answer.body).toEqual(first === undefined ? undefined : { name: first })
                if (first !== undefined)
                  expect(recalled[at]).toMatchObject({ source: 'duplicate', credits: 0 })
              })
              const fresh = rows.filter(({ identity = '' }) => !kept.has(identity))
              await journal.keep(fresh.map((one) => answered(one)))
              for (const { identity = '', ordinal: at } of fresh) kept.set(identity, at)
            }
          },
        ),
        { numRuns: name === 'SQLite' ? tries(30, 100) : tries(4, 12) },
      )
    })

    it('get the answer that an earlier attempt stored for a later row', async () => {
      const { part } = await newParts()
      await (await part()).keep([answered(row(900, 'same'))])
      const [recalled] = await (await part()).recall([row(5, 'same')])
      expect(recalled).toMatchObject({ answer: { body: { name: 900 } }, source: 'duplicate' })
    })

    it('are recognised by texts that PostgreSQL cannot store as they are', async () => {
      const { part } = await newParts()
      const first = await part({ window: 1 })
      const [odd, like] = ['a\u0000b\ud800', 'a\ufffdb\ufffd']
      const text = { ...found('x\u0000y'), error: 'said \u0000' }
      await first.keep([answered(row(0, odd), text), answered(row(1, like))])
      await end(first, 2)
      const again = await part()
      const [recalled, other, none] = await again.recall([row(5, odd), row(6, like), row(7, 'a')])
      expect([recalled?.answer.body, other?.answer.body]).toEqual([{ name: 'x\u0000y' }, { name: 1 }])
      expect(none).toBeUndefined()
    })

    it('do not share a failure, not even that of an earlier part', async () => {
      const { part } = await newParts()
      const first = await part()
      await first.keep([answered(row(0, 'same'), failed)])
      expect(await first.recall([row(1, 'same')])).toEqual([undefined])
      expect(await (await part()).recall([row(1, 'same')])).toEqual([undefined])
    })

    it('share an unknown outcome and its cost until one of them is sent again', async () => {
      const { part } = await newParts({ mayRepeat: false })
      const first = await part({ window: 1 })
      await first.plan([row(0, 'same')])
      await first.keep([answered(row(0, 'same'), unknownAnswer)])
      const unknown = { answer: unknownAnswer, source: 'duplicate', credits: 0 }
      expect(await first.recall([row(1, 'same')])).toEqual([unknown])
      await first.keep([answered(row(2, 'other'))])
      expect(await first.recall([row(1, 'same')])).toEqual([unknown])
      await end(first, 3)
      const second = await part()
      expect([...(await second.resume(0, 5)).keys()]).toEqual([0, 2])
      expect(await second.recall([row(1, 'same')])).toEqual([unknown])
      await end(second, 3)
      const third = await part({ retryUnknown: true })
      expect([...(await third.resume(0, 5)).keys()]).toEqual([2])
      expect(await third.recall([row(0, 'same'), row(1, 'same')])).toEqual([undefined, undefined])
      await third.plan([row(0, 'same')])
      await third.keep([answered(row(0, 'same'))])
      expect((await third.recall([row(1, 'same')]))[0]?.answer).toMatchObject({ body: { name: 0 } })
    })

    it('wait for the row with the unknown outcome, which is sent again under its key', async () => {
      const { part } = await newParts({ mayRepeat: true })
      const first = await part()
      await first.plan([row(0, 'same')])
      await first.keep([answered(row(0, 'same'), unknownAnswer)])
      await end(first, 1)
      const second = await part()
      await second.resume(0, 5)
      const [own, equal] = await second.recall([row(0, 'same'), row(1, 'same')])
      expect([own, equal?.answer, equal?.source]).toEqual([undefined, unknownAnswer, 'duplicate'])
    })

    it('are not confused by equal hashes of different identities', async () => {
      const journal = await newJournal({}, await open())
      const { hash } = row(0, 'one')
      await journal.keep([answered(row(0, 'one'))])
      expect(await journal.recall([{ ...row(1, 'other'), hash }])).toEqual([undefined])
    })
  })

  describe('a resumed run', () => {
    it('has the answers of its earlier attempts by row, with their costs', async () => {
      const { part } = await newParts()
      await (await part()).keep([answered(row(1)), answered(row(3), { ...failed, status: 'not_found' })])
      const earlier = await (await part()).resume(0, 10)
      expect([...earlier.keys()]).toEqual([1, 3])
      expect(earlier.get(1)).toMatchObject({ answer: found(1), source: 'live', credits: 1, kept: true })
      expect(earlier.get(3)).toMatchObject({ answer: { status: 'not_found', error: 'down' } })
    })

    it('looks up failed rows again', async () => {
      const { part } = await newParts()
      await (await part()).keep([answered(row(0), failed)])
      const journal = await part()
      expect((await journal.resume(0, 5)).size).toBe(0)
      const { planned } = await journal.plan([row(0)])
      expect(planned[0]?.row).toEqual({ run: 'run-1', ordinal: 0, fresh: false })
    })

    it('sends rows without an answer again under the same keys', async () => {
      // What was set aside for them is theirs, though it leaves nothing.
      const { part, record } = await newParts({ budget: { perRun: 4 } })
      const first = await (await part()).plan([row(0), row(1), row(2)])
      expect(first.planned.map(({ row: sent }) => sent?.fresh)).toEqual([true, true, true])
      const journal = await part()
      await journal.resume(0, 5)
      const again = await journal.plan([row(0), row(1), row(2), row(3)])
      expect(again.planned.map(({ row: sent }) => sent?.fresh)).toEqual([false, false, false, true])
      expect(again.planned.slice(0, 3).map(({ key }) => key)).toEqual(first.planned.map(({ key }) => key))
      expect((await record()).reserved).toBe(4)
    })

    it('sends a row again with the limit that its budget left, whatever it leaves now', async () => {
      const { part } = await newParts()
      const jobs = { ...row(0), most: 10, perRecord: 1 }
      const [first] = (await (await part({ budget: { perRun: 5 } })).plan([jobs])).planned
      expect(first?.limit).toBe(5)
      const journal = await part({ budget: { perRun: 50 } })
      await journal.resume(0, 5)
      expect((await journal.plan([jobs])).planned).toEqual([
        { ...first, row: { run: 'run-1', ordinal: 0, fresh: false } },
      ])
    })

    it('sends only those rows again that a lowered budget has room for', async () => {
      const { part } = await newParts({ budget: { perRun: 3 } })
      await (await part()).plan([row(0), row(1), row(2)])
      const journal = await part({ budget: { perRun: 2 } })
      await journal.resume(0, 5)
      expect((await journal.plan([row(0), row(1), row(2)])).planned).toHaveLength(2)
    })

    it('releases nothing with an answer for which nothing is set aside', async () => {
      const { part, record } = await newParts()
      const journal = await part()
      await journal.plan([row(0), row(1)])
      await journal.keep([{ ...answered(row(2)), source: 'duplicate' }])
      expect((await record()).reserved).toBe(2)
    })

    it('counts doubted answers at no cost', async () => {
      const { driver, part } = await newParts()
      const journal = await part()
      await journal.end({ complete: true, certain: true, cleared: 0, invalid: 0, doubted: 2 })
      expect(await spendingOver(driver).list({})).toMatchObject([{ credits: 0, calls: 0, doubted: 2 }])
    })

    it('has no open rows after an orderly end', async () => {
      const { part, record } = await newParts()
      const first = await part()
      await first.plan([row(0), row(1)])
      await first.keep([answered(row(0))])
      await end(first, 2)
      expect(await record()).toMatchObject({
        status: 'stopped',
        reserved: 0,
        credits: 1,
        sentFrom: 0,
        sentTo: 0,
      })
      const journal = await part()
      await journal.resume(0, 5)
      expect((await journal.plan([row(1)])).planned[0]?.row?.fresh).toBe(true)
    })

    it('leaves rows open that it did not reach', async () => {
      const { part, record } = await newParts()
      await (await part()).plan([row(0), row(1), row(2), row(3)])
      const second = await part()
      await second.resume(0, 2)
      await second.plan([row(0), row(1)])
      await second.keep([answered(row(0)), answered(row(1))])
      await end(second, 2)
      expect(await record()).toMatchObject({ sentFrom: 2, sentTo: 4, reserved: 2 })
      const third = await part()
      await third.resume(0, 5)
      expect((await third.plan([row(2)])).planned[0]?.row?.fresh).toBe(false)
    })

    it('does not send rows twice to a server that may charge twice, unless it is asked to', async () => {
      const { part, record } = await newParts({ mayRepeat: false })
      await (await part()).plan([row(0)])
      const second = await part()
      await second.resume(0, 5)
      expect((await second.recall([row(0), row(1)])).map((one) => one?.answer)).toEqual([
        unknownAnswer,
        undefined,
      ])
      await second.keep([answered(row(0), unknownAnswer)])
      await end(second, 2)
      expect(await record()).toMatchObject({ credits: 0, reserved: 1 })
      const third = await part()
      expect((await third.resume(0, 5)).get(0)?.answer).toMatchObject({ error: 'outcome_unknown' })
      await end(third, 2)
      const fourth = await part({ retryUnknown: true })
      expect((await fourth.resume(0, 5)).size).toBe(0)
      expect(await fourth.recall([row(0)])).toEqual([undefined])
      expect((await fourth.plan([row(0)])).planned).toHaveLength(1)
      await fourth.keep([answered(row(0))])
      await end(fourth, 2, true)
      expect(await record()).toMatchObject({ credits: 1, reserved: 0, status: 'finished' })
    })
  })

  describe('a request for several rows', () => {
    const opened = async () => {
      const { driver, part, record } = await newParts()
      // Rows of a killed part that this one does not reach: what is set aside for them stays.
      await (await part()).plan([row(300), row(301)])
      const journal = await part()
      if (!journal.bulks) throw new Error('this journal knows of no requests for several rows')
      const reserved = async () => (await record()).reserved
      return { driver, journal, bulks: journal.bulks, reserved }
    }

    it('is over when the last of its rows is answered, in whatever portions', async () => {
      const { driver, journal, bulks, reserved } = await opened()
      await bulks.plan([row(0), row(1), row(2)], 2)
      await journal.keep([answered(row(0))])
      await journal.keep([answered(row(1)), answered(row(2))])
      expect(await driver.read((tx) => tx.all('SELECT * FROM bulks'))).toEqual([])
      expect(await reserved()).toBe(2)
    })

    it('releases the credits of a row once, though its answer is known only after an unknown one', async () => {
      const { driver, journal, bulks } = await opened()
      await bulks.plan([row(0), row(1), row(2)], 2)
      await journal.keep([answered(row(0), unknownAnswer)])
      await journal.keep([answered(row(0))])
      expect(await driver.read((tx) => tx.all('SELECT reserved FROM bulks'))).toEqual([{ reserved: 2 }])
    })

    it('keeps its credits after an orderly end, until its rows have answers', async () => {
      const { part, record } = await newParts()
      const journal = await part()
      await journal.bulks?.plan([row(0), row(1)], 2)
      await end(journal, 0)
      expect((await record()).reserved).toBe(2)
      const second = await part()
      await second.resume(0, 5)
      await second.keep([answered(row(0)), answered(row(1))])
      await end(second, 2, true)
      expect(await record()).toMatchObject({ credits: 2, reserved: 0 })
    })

    it('releases its credits once when it is withdrawn', async () => {
      const { journal, bulks, reserved } = await opened()
      const { bulk } = await bulks.plan([row(0), row(1)], 2)
      await bulks.plan([row(2), row(3)], 2)
      if (bulk) await bulks.withdraw(bulk)
      expect(await reserved()).toBe(4)
      await end(journal, 0)
      expect(await reserved()).toBe(4)
    })
  })

  describe('a row that another run has under way', () => {
    const turns = { isAlive: async () => true, takesKeys: true }
    const asked = (ordinal: number, identity: string) => ({ ...row(ordinal, identity), input: { identity } })

    /** Two runs that are under way in one database. */
    async function newPair() {
      const { driver, part } = await newParts({ turns })
      const other = await runsOver(driver).add(newRun({ id: 'run-2', identityKey: 'other' }))
      return [await part(), await journalFor(driver, other, { turns })] as const
    }

    it('is not sent, even if it is a single one and the other run has taken more since', async () => {
      const [first, second] = await newPair()
      expect(await first.takeTurns?.([asked(0, 'same'), asked(1, 'more')])).toBeUndefined()
      expect(await first.takeTurns?.([asked(2, 'last')])).toBeUndefined()
      expect(await second.takeTurns?.([asked(7, 'same'), asked(8, 'own')])).toEqual(new Set([7]))
    })

    it('is not awaited once it is answered there, though rows that were taken with it are not', async () => {
      const [first, second] = await newPair()
      await first.takeTurns?.([asked(0, 'same'), asked(1, 'more')])
      await first.keep([answered(row(0, 'same'))])
      expect(await second.takeTurns?.([asked(7, 'same'), asked(8, 'more')])).toEqual(new Set([8]))
    })

    it('is free to be sent when it failed there', async () => {
      const [first, second] = await newPair()
      await first.takeTurns?.([asked(0, 'same')])
      await first.keep([answered(row(0, 'same'), failed)])
      expect(await second.takeTurns?.([asked(7, 'same')])).toBeUndefined()
    })
  })

  describe('stored answers of other runs', () => {
    const day = 86_400_000

    async function withOther(driver: Driver, more: Parameters<typeof newRun>[0] = {}) {
      const runs = runsOver(driver)
      const other = await runs.add(newRun({ id: 'other', identityKey: 'other', ...more }))
      const journal = await journalFor(driver, other, { now: () => 10 * day })
      await journal.keep([answered({ ...row(7, 'same'), repeats: false })])
      await end(journal, 8, true)
      const run = await runs.add(newRun())
      const taking = async (maxAgeMs: number, now: number) => {
        await runs.indexOthers(run)
        return journalFor(driver, run, { now: () => now, store: { maxAgeMs } })
      }
      return { runs, run, taking }
    }

    const asked = [{ ...row(0, 'same'), repeats: false }]

    it('are reused while they are young enough, and cost nothing', async () => {
      const { taking } = await withOther(await open())
      const [young] = await (await taking(2 * day, 12 * day)).recall(asked)
      expect(young).toMatchObject({ answer: { body: { name: 7 } }, source: 'store', credits: 0 })
      expect(await (await taking(2 * day, 12 * day + 1)).recall(asked)).toEqual([undefined])
    })

    it.each([
      ['operation', { operation: 'leads.enrich' }],
      ['target', { target: 'https://api.example/api/v2' }],
    ])('are not reused from another %s', async (_, more) => {
      const { taking } = await withOther(await open(), more)
      expect(await (await taking(2 * day, 11 * day)).recall(asked)).toEqual([undefined])
    })

    it('keep their age when they are reused', async () => {
      const driver = await open()
      const { runs, taking } = await withOther(driver)
      const journal = await taking(2 * day, 12 * day)
      const [taken] = await journal.recall(asked)
      if (!taken) throw new Error('nothing was taken')
      await journal.keep([
        { ...(asked[0] as JournalRow), ...taken, source: 'store', answeredAt: taken.storedAt },
      ])
      await end(journal, 1, true)
      const reused = 'SELECT answered_at FROM answers WHERE origin IS NOT NULL'
      expect(await driver.read((tx) => tx.all(reused))).toEqual([{ answered_at: 10 * day }])
      const third = await runs.add(newRun({ id: 'third', identityKey: 'third' }))
      await runs.indexOthers(third)
      const store = { maxAgeMs: day }
      const later = await journalFor(driver, third, { now: () => 12 * day, store })
      expect(await later.recall(asked)).toEqual([undefined])
    })

    it('keep their age for later parts of the run, where answers that it paid for have none', async () => {
      const { taking } = await withOther(await open())
      const journal = await taking(2 * day, 12 * day)
      const [taken] = await journal.recall(asked)
      if (!taken) throw new Error('nothing was taken')
      const [row0] = asked as [JournalRow]
      await journal.keep([
        { ...row0, ...taken, source: 'store', answeredAt: taken.storedAt },
        answered(row(1)),
      ])
      const resumed = await (await taking(2 * day, 12 * day)).resume(0, 2)
      expect([0, 1].map((ordinal) => resumed.get(ordinal)?.storedAt)).toEqual([10 * day, undefined])
    })

    it('are not taken for rows that an earlier part sent all the same', async () => {
      const driver = await open()
      const { runs, run, taking } = await withOther(driver)
      const [row = asked[0] as JournalRow] = asked
      await (await taking(2 * day, 12 * day)).plan([row])
      const sent = (await runs.find(run.id))[0] as Run
      const resumed = async (sentMaxAgeMs: number) => {
        const now = () => 12 * day
        const journal = await journalFor(driver, sent, { now, store: { maxAgeMs: 9 * day }, sentMaxAgeMs })
        await journal.resume(0, 1)
        return (await journal.recall(asked))[0]?.source
      }
      expect([await resumed(0), await resumed(day), await resumed(2 * day)]).toEqual([
        undefined,
        undefined,
        'store',
      ])
    })

    it('stay usable after their run was forgotten, which is no longer listed', async () => {
      const { runs, taking } = await withOther(await open())
      const [other] = await runs.find('other')
      await runs.forget(other as Run, 1_000)
      expect((await runs.list()).map(({ id }) => id)).toEqual(['run-1'])
      expect((await (await taking(2 * day, 12 * day)).recall(asked))[0]).toMatchObject({ source: 'store' })
    })
  })

  it('a run counts rows as done that are in its output, not those that are sent or answered', async () => {
    const { part, record } = await newParts()
    const journal = await part()
    await journal.plan([row(0), row(1)])
    await journal.keep([answered(row(0))])
    const before = (await record()).done
    await journal.written(1, 1)
    await journal.keep([answered(row(1))])
    expect([before, (await record()).done]).toEqual([0, 1])
  })

  describe('a run that is opened read-only', () => {
    it('sends nothing, stores nothing, and fills rows without an answer', async () => {
      const { driver, part, record } = await newParts()
      await (await part()).keep([answered(row(0))])
      const before = await record()
      const journal = await part({ missing: { status: 'skipped', error: 'Not looked up yet' } })
      expect((await journal.resume(0, 2)).size).toBe(1)
      expect(await journal.recall([row(1)])).toEqual([
        {
          answer: { status: 'skipped', error: 'Not looked up yet', body: undefined, credits: 0 },
          source: null,
          credits: 0,
        },
      ])
      await journal.keep([answered(row(1))])
      await end(journal, 2, true)
      expect(await record()).toEqual({ ...before, indexed: before.indexed })
      const { n } = (await driver.read((tx) =>
        tx.get<{ n: number }>('SELECT count(*) AS n FROM answers'),
      )) ?? { n: 0 }
      expect(n).toBe(1)
    })
  })
})
