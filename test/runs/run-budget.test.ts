import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/api/calls/caller.js'
import type { LookupOptions, Lookups } from '../../src/lookups/store.js'
import { execute } from '../../src/runs/execute.js'
import { asRead } from '../../src/runs/input/mapping.js'
import { type Run, runsOver } from '../../src/runs/journal/runs.js'
import { spendingOver } from '../../src/runs/journal/spending.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { states } from '../support/databases.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { newFolder } from '../support/new-folder.js'
import {
  companyBatch,
  csvOf,
  domainsOf,
  fakeCaller,
  fillDisk,
  lookupsFor,
  memorySink,
  newRun,
  reply,
} from './fakes.js'

describe.each(states())('%s', (name, open) => {
  const folder = perFile(newFolder)
  const later = () => new Promise((resolve) => setImmediate(resolve))

  /** A target that charges up to `most` for a row, once for each key, and knows what it has charged in all. */
  function chargingCaller(most: number, delays: readonly number[]) {
    const charged = new Map<string, number>()
    const { caller } = fakeCaller(async (_, nth, { idempotencyKey = '' }) => {
      for (let turns = delays[(nth - 1) % delays.length] ?? 0; turns > 0; turns--) await later()
      const before = charged.get(idempotencyKey)
      if (before !== undefined) return { ...reply(200, { domain: 'x' }), replayed: before }
      const credits = nth % (most + 1)
      charged.set(idempotencyKey, credits)
      return reply(200, { domain: 'x' }, credits)
    })
    const total = () => [...charged.values()].reduce((sum, credits) => sum + credits, 0)
    return { caller, total }
  }

  const record = async (driver: Driver, id = 'run-1') => (await runsOver(driver).find(id))[0] as Run

  /** Runs a batch in which a row may have up to 100 records at a credit each. */
  async function part(rows: readonly string[], caller: Caller, journal: Lookups) {
    const sink = memorySink()
    const batch = await companyBatch(folder.file(csvOf(rows)), caller, sink, { lookups: journal })
    const report = await execute({
      ...batch,
      operation: 'accounts.hiring',
      most: () => 100,
      perRecord: 1,
      read: (cells) => asRead({ ...batch.read(cells).input, limit: 100 }),
    })
    return { report, sources: sink.text().match(/(?:lookup|reused|duplicate)$/gm) }
  }

  describe('a budget', () => {
    test('is never exceeded by any attempt of a run, however it ended', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            picks: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 60 }),
            most: fc.integer({ min: 1, max: 5 }),
            concurrency: fc.integer({ min: 1, max: 40 }),
            delays: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 9 }),
            parts: fc.array(fc.record({ more: fc.nat({ max: 60 }), room: fc.nat({ max: 60 }) }), {
              maxLength: 5,
            }),
          }),
          async ({ picks, most, concurrency, delays, parts }) => {
            const driver = await open()
            await runsOver(driver).add(newRun())
            const target = chargingCaller(most, delays)
            const file = folder.file(csvOf(picks.map((pick) => `d${pick}.example`)))
            let perRun = 0
            const last = { more: most * picks.length, room: Number.POSITIVE_INFINITY }
            for (const { more, room } of [...parts, last]) {
              perRun += more
              const journal = await lookupsFor(driver, await record(driver), { budgets: { perRun } })
              const guarded: Caller = {
                ...target.caller,
                call: async (...request) => {
                  const answer = await target.caller.call(...request)
                  expect(target.total()).toBeLessThanOrEqual(perRun)
                  return answer
                },
              }
              const report = await execute(
                await companyBatch(file, guarded, memorySink(), {
                  lookups: fillDisk(journal, room),
                  concurrency,
                  most: () => most,
                }),
              )
              expect([undefined, 10, 12]).toContain(report.stopped?.exit_code)
              const { credits, reserved } = await record(driver)
              expect(credits + reserved).toBeLessThanOrEqual(perRun)
              expect(target.total()).toBeLessThanOrEqual(credits + reserved)
            }
            expect(await record(driver)).toMatchObject({
              status: 'finished',
              credits: target.total(),
              reserved: 0,
            })
          },
        ),
        { numRuns: name === 'SQLite' ? tries(10, 60) : tries(2, 8) },
      )
    })

    test('for a day applies to all runs of a profile together', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({ rows: fc.integer({ min: 1, max: 30 }), most: fc.integer({ min: 1, max: 4 }) }),
            {
              minLength: 2,
              maxLength: 4,
            },
          ),
          fc.nat({ max: 100 }),
          fc.integer({ min: 1, max: 16 }),
          async (batches, perDay, concurrency) => {
            const driver = await open()
            const targets = batches.map(({ most }) => chargingCaller(most, [0, 2, 1]))
            const options: Partial<LookupOptions> = { budgets: { perDay } }
            const total = () => targets.reduce((sum, one) => sum + one.total(), 0)
            await Promise.all(
              batches.map(async ({ rows, most }, at) => {
                const added = await runsOver(driver).add(
                  newRun({ id: `run-${at}`, identityKey: `known-${at}` }),
                )
                const { caller } = targets[at] as ReturnType<typeof chargingCaller>
                const batch = await companyBatch(folder.file(csvOf(domainsOf(rows))), caller, memorySink(), {
                  lookups: await lookupsFor(driver, added, options),
                  concurrency,
                  most: () => most,
                })
                await execute(batch)
                expect(total()).toBeLessThanOrEqual(perDay)
              }),
            )
          },
        ),
        { numRuns: name === 'SQLite' ? tries(5, 20) : tries(2, 6) },
      )
    })

    test('for a day does not count the spending of other profiles and days', async () => {
      const driver = await open()
      const spend = async (id: string, profile: string, now: number) => {
        const target = chargingCaller(1, [0])
        const added = await runsOver(driver).add(newRun({ id, identityKey: id, profile }))
        const journal = await lookupsFor(driver, added, { budgets: { perDay: 3 }, now: () => now })
        await execute(
          await companyBatch(folder.file(csvOf(domainsOf(20))), target.caller, memorySink(), {
            lookups: journal,
          }),
        )
        return target.total()
      }
      const day = 86_400_000
      expect(await spend('one', 'sales', day)).toBe(3)
      expect(await spend('two', 'sales', 2 * day - 1)).toBe(0)
      expect(await spend('three', 'other', day)).toBe(3)
      expect(await spend('four', 'sales', 2 * day)).toBe(3)
    })

    test('for a day is never more than it is because the clock went back or forth, also while lookups are under way', async () => {
      const driver = await open()
      const day = 86_400_000
      let [now, moved, runs] = [10 * day, 0, 0]
      /** Runs a batch, over whose answers the clock is moved by days. */
      const spend = async (domains: readonly string[]) => {
        const { caller, total } = chargingCaller(1, [0])
        const call: Caller['call'] = async (...given) => {
          const answer = await caller.call(...given)
          now += moved * day
          moved = 0
          return answer
        }
        const id = `run-${runs++}`
        const added = await runsOver(driver).add(newRun({ id, identityKey: id }))
        const journal = await lookupsFor(driver, added, { budgets: { perDay: 3 }, now: () => now })
        const file = folder.file(csvOf(domains))
        await execute(await companyBatch(file, { ...caller, call }, memorySink(), { lookups: journal }))
        return total()
      }
      moved = -1
      expect(await spend(domainsOf(20))).toBe(3)
      const later: number[] = []
      for (const at of [9, 10, 11, 10, 11, 9, 40, 11, 40, 41]) {
        now = at * day
        later.push(await spend(domainsOf(20)))
      }
      expect(later).toEqual([0, 0, 3, 0, 0, 0, 3, 0, 0, 3])
    })

    test('for a day counts single calls on the day that they were held for', async () => {
      const spending = spendingOver(await open())
      const day = 86_400_000
      const spender = { profile: 'default', target: 'x', operation: 'accounts.enrich' }
      let calls = 0
      /** Makes a call that costs as many credits, and ends on another day than it began on. */
      const call = async (begun: number, ended: number, credits: number) => {
        const id = `call-${calls++}`
        const asked = { id, profile: 'default', perDay: 3 }
        const held = await spending.hold(
          asked,
          (left) => (left >= credits ? credits : undefined),
          begun * day,
        )
        if (held.credits === undefined) return 'refused'
        await spending.settle(id, spender, { credits, calls: 1 }, ended * day)
        return 'made'
      }
      expect([await call(10, 9, 2), await call(10, 10, 2), await call(9, 9, 2)]).toEqual([
        'made',
        'refused',
        'refused',
      ])
      // Nothing is spent on a day to come, and the day before is as it was.
      expect([await call(40, 40, 0), await call(10, 10, 2), await call(41, 10, 3)]).toEqual([
        'made',
        'refused',
        'made',
      ])
      expect([await call(10, 10, 1), await call(41, 41, 1), await call(42, 42, 3)]).toEqual([
        'refused',
        'refused',
        'made',
      ])
      const days = (await spending.list({})).map(({ day: name, credits }) => [name.slice(5), credits])
      expect(days).toEqual([
        ['01-11', 2],
        ['02-11', 3],
        ['02-12', 3],
      ])
    })

    test('for a day cannot be lowered in the tables', async () => {
      const driver = await open()
      const spending = spendingOver(driver)
      const spender = { profile: 'default', target: 'x', operation: 'accounts.enrich' }
      await spending.count(spender, { credits: 2, calls: 1 }, 0)
      for (const sql of ['UPDATE budgets SET spent = spent - 1', 'DELETE FROM budgets'])
        await expect(driver.transaction((tx) => tx.run(sql))).rejects.toThrow()
    })

    test('that is reached stops the run with exit 12 and names the row', async () => {
      const target = chargingCaller(1, [0])
      const driver = await open()
      const journal = await lookupsFor(driver, await runsOver(driver).add(newRun()), {
        budgets: { perRun: 0 },
      })
      const report = await execute(
        await companyBatch(folder.file(csvOf(domainsOf(5))), target.caller, memorySink(), {
          lookups: journal,
          total: 5,
        }),
      )
      expect(report.stopped).toMatchObject({
        exit_code: 12,
        budget: 'run',
        reason: 'Budget reached: 0 credits for this run',
        at_row: 1,
        rows_left: 5,
      })
    })
  })

  describe('an operation that is priced per record', () => {
    /** Asks for so many companies of which each has so many records. */
    async function records(perRun: number, there: number, rows: number) {
      const { caller, calls } = fakeCaller(({ limit }) =>
        reply(200, { domain: 'x' }, Math.min(Number(limit), there)),
      )
      const driver = await open()
      const journal = await lookupsFor(driver, await runsOver(driver).add(newRun()), { budgets: { perRun } })
      const { report } = await part(domainsOf(rows), caller, journal)
      const limits = calls.map(({ input }) => input.limit)
      return { limits, report, spent: (await record(driver)).credits }
    }

    test('has its limit lowered to what the budget leaves', async () => {
      const { limits, spent, report } = await records(250, 1_000, 5)
      expect([limits, spent, report.stopped?.exit_code]).toEqual([[100, 100, 50], 250, 12])
    })

    test('keeps its limit while calls in flight may still leave a part of their reservation', async () => {
      const { limits, spent, report } = await records(250, 10, 8)
      expect([new Set(limits), spent, report.stopped]).toEqual([new Set([100]), 80, undefined])
    })
  })

  describe('a row whose limit a budget lowered', () => {
    /** A target where the first company has `there` jobs and the others 100. */
    const hiring = (there: number) =>
      fakeCaller(({ limit, domain }) => {
        const count = Math.min(Number(limit), domain === 'd0.example' ? there : 100)
        return reply(200, { jobs: Array(count).fill({}) }, count)
      })

    test.each([
      ['fewer records than the budget left', 40],
      ['more records', 500],
    ])('answers duplicate rows when the run is resumed, with %s', async (_, there) => {
      const { caller, calls } = hiring(there)
      const driver = await open()
      await runsOver(driver).add(newRun())
      const rows = [...domainsOf(4), ...domainsOf(4)]
      const opened = async (perRun?: number) =>
        lookupsFor(driver, await record(driver), { budgets: { perRun } })
      expect((await part(rows, caller, await opened(50))).report.stopped?.exit_code).toBe(12)
      const { report, sources } = await part(rows, caller, await opened())
      expect([report.stopped, sources]).toEqual([
        undefined,
        [...Array(4).fill('lookup'), ...Array(4).fill('duplicate')],
      ])
      const keys = calls.map(({ options }) => options?.idempotencyKey)
      expect(keys).toEqual(rows.slice(0, 4).map((_, at) => `run-1-${at}`))
      const again = await part(rows, caller, await opened())
      expect([again.sources, calls.length]).toEqual([sources, 4])
    })

    test.each([
      ['answers a later run when it had fewer records than the budget left', 40, 'reused'],
      ['does not answer a later run when it may have had more records', 50, 'lookup'],
    ])('%s', async (_, there, source) => {
      const { caller } = hiring(there)
      const driver = await open()
      const runs = runsOver(driver)
      const first = await runs.add(newRun())
      await part(domainsOf(1), caller, await lookupsFor(driver, first, { budgets: { perRun: 50 } }))
      const second = await runs.add(newRun({ id: 'run-2' }))
      const store = { maxAgeMs: 1_000_000 }
      expect((await part(domainsOf(1), caller, await lookupsFor(driver, second, store))).sources).toEqual([
        source,
      ])
    })
  })
})
