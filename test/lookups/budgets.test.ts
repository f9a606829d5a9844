import { describe, expect, it } from 'vitest'
import { unknownAnswer } from '../../src/lookups/answer.js'
import type { Budgets } from '../../src/lookups/budgets.js'
import type { Ask, Claim, LookupOptions } from '../../src/lookups/store.js'
import { type Run, runsOver } from '../../src/runs/journal/runs.js'
import { openState } from '../../src/storage/state/open.js'
import { lookupsFor, newRun } from '../runs/fakes.js'
import { places, states } from '../support/databases.js'

const asksIn = (claims: readonly Claim[]): Ask[] =>
  claims.flatMap((claim) => (claim.is === 'ask' ? [claim.ask] : []))
const shortageIn = (claims: readonly Claim[]) => claims.find((claim) => claim.is === 'short')?.shortage

describe.each(states())('%s', (_, open) => {
  const row = (ordinal: number) => ({
    ordinal,
    identity: `id ${ordinal}`,
    hash: ordinal,
    most: 1,
    input: { domain: `d${ordinal}.example` },
  })
  const rows = Array.from({ length: 8 }, (_, ordinal) => row(ordinal))
  const answered = (ask: Ask) => ({
    ...row(ask.ordinal),
    answer: { status: 'found', error: null, body: {}, credits: 1 } as const,
    source: 'live' as const,
    ask,
  })

  async function newRuns() {
    const driver = await open()
    const runs = runsOver(driver)
    const { id } = await runs.add(newRun())
    const record = async () => (await runs.find(id))[0] as Run
    const part = async (budgets: Budgets, more: Partial<LookupOptions> = {}) =>
      lookupsFor(driver, await record(), { budgets, ...more })
    return { part, record }
  }

  /** A run that was killed with eight rows sent, of which two were answered and paid. */
  async function killed() {
    const made = await newRuns()
    const first = await made.part({ perRun: 8 })
    const asks = asksIn(await first.claim(rows))
    await first.settle(asks.slice(0, 2).map(answered))
    return made
  }

  describe('a lower budget for a run that was killed', () => {
    it.each([
      ['run', { perRun: 5 }],
      ['day', { perDay: 5 }],
    ])('of the %s also applies to rows that were sent before', async (kind, budget) => {
      const { part, record } = await killed()
      const second = await part(budget)
      const claims = await second.claim(rows.slice(2))
      expect([asksIn(claims).length, shortageIn(claims)]).toEqual([3, { budget: kind, credits: 5 }])
      expect(asksIn(await second.claim(rows.slice(5)))).toEqual([])
      await second.settle(asksIn(claims).map(answered))
      expect(asksIn(await second.claim(rows.slice(5)))).toEqual([])
      await second.end(false, 0)
      expect(await record()).toMatchObject({ credits: 5, reserved: 3 })
      const third = await part({ perRun: 8, perDay: 8 })
      const again = asksIn(await third.claim([...rows.slice(5), row(8)]))
      expect(again.map(({ ordinal }) => ordinal)).toEqual([5, 6, 7])
    })

    it('sends all open rows again when it is as high as before', async () => {
      const { part } = await killed()
      expect(asksIn(await (await part({ perRun: 8 })).claim(rows.slice(2)))).toHaveLength(6)
    })

    it('sends nothing when all of it is spent', async () => {
      const { part } = await killed()
      expect(asksIn(await (await part({ perRun: 2 })).claim(rows.slice(2)))).toEqual([])
    })

    it('counts rows with an unknown outcome, and permits sending them again', async () => {
      const { part } = await killed()
      const lost = await part({ perRun: 8 })
      const asks = asksIn(await lost.claim(rows.slice(2)))
      await lost.settle(asks.slice(0, 2).map((ask) => ({ ...answered(ask), answer: unknownAnswer })))
      const next = await part({ perRun: 4 }, { mayRepeat: false, retryUnknown: true })
      expect(asksIn(await next.claim(rows.slice(2))).map(({ ordinal }) => ordinal)).toEqual([2, 3])
    })

    it('does not stop a row whose limit was lowered for the previous budget', async () => {
      const { part } = await newRuns()
      const wanted = [{ ...row(0), most: 100, perRecord: 2 }]
      for (let again = 0; again < 2; again++) {
        const [ask] = asksIn(await (await part({ perRun: 10 })).claim(wanted))
        expect([ask?.key, ask?.input]).toEqual(['run-1-0', { domain: 'd0.example', limit: 5 }])
      }
      expect(asksIn(await (await part({ perRun: 9 })).claim(wanted))).toEqual([])
    })

    it('applies to rows that were sent as one request, unless the request was accepted', async () => {
      const { part } = await newRuns()
      const first = await part({ perRun: 8 })
      const some = rows.slice(0, 4)
      const ordinals = asksIn(await first.claim(some)).map(({ ordinal }) => ordinal)
      const { key } = await first.together(some)
      const short = await (await part({ perRun: 3 })).claim(some)
      expect([asksIn(short), shortageIn(short)]).toEqual([[], { budget: 'run', credits: 3 }])
      const again = asksIn(await (await part({ perRun: 4 })).claim(some))
      expect(again.map((ask) => ask.key)).toEqual(Array(4).fill(key))
      await first.accept(ordinals.map((ordinal, at) => [ordinal, { id: 'bulk', part: null, at }]))
      expect(asksIn(await (await part({ perRun: 3 })).claim(some))).toHaveLength(4)
    })
  })

  describe('rows that were sent as one request', () => {
    it('are open until the last of them is answered, however their answers come', async () => {
      const { part } = await newRuns()
      const first = await part({})
      const some = rows.slice(0, 4)
      const asks = asksIn(await first.claim(some))
      await first.together(some)
      for (const [portion, left] of [
        [[0], 3],
        [[1, 2], 1],
        [[3], 0],
      ] as const) {
        await first.settle(portion.map((at) => answered(asks[at] as Ask)))
        expect(asksIn(await (await part({})).claim(some))).toHaveLength(left)
      }
    })
  })
})

it.each(places)('concurrent runs of several processes keep to one daily budget: %s', async (_, open) => {
  const [perDay, rowsOfEach] = [50, 40]
  const place = await open()
  const drivers = [await openState(place.location), await openState(place.location)]
  const many = await Promise.all(
    [0, 1, 2, 3].map(async (at) => {
      const driver = drivers[at % 2] as (typeof drivers)[0]
      const run = await runsOver(driver).add(newRun({ id: `run ${at}`, identityKey: `known ${at}` }))
      return lookupsFor(driver, run, { budgets: { perDay } })
    }),
  )
  const sent = await Promise.all(
    many.map(async (lookups, at) => {
      let count = 0
      for (let from = 0; from < rowsOfEach; from += 2) {
        // Each run asks for rows of its own.
        const wanted = [from, from + 1].map((ordinal) => ({
          ...{ ordinal, identity: `${at} ${ordinal}`, hash: 100 * at + ordinal, most: 1 },
          input: { domain: `d${at}-${ordinal}.example` },
        }))
        const asks = asksIn(await lookups.claim(wanted))
        count += asks.length
        const settled = wanted.flatMap((row) => {
          const ask = asks.find(({ ordinal }) => ordinal === row.ordinal)
          const answer = { status: 'found', error: null, body: {}, credits: 1 } as const
          return ask ? [{ ...row, answer, source: 'live' as const, ask }] : []
        })
        await lookups.settle(settled)
      }
      return count
    }),
  )
  expect(sent.reduce((sum, one) => sum + one, 0)).toBe(perDay)
  for (const driver of drivers) await driver.close()
  await place.drop()
})
