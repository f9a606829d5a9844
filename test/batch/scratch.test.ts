import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Answered } from '../../src/batch/journal.js'
import { createScratch } from '../../src/batch/scratch.js'
import { hashOf, IdentityFilter, RepeatFilter } from '../../src/csv/identity-filter.js'
import { openSqlite } from '../../src/storage/sqlite.js'
import { testFolder } from './folder.js'

const folder = testFolder()

const row = (ordinal: number, identity: string | undefined): Answered => ({
  ordinal,
  identity,
  input: {},
  answer: { status: 'found', error: null, body: { identity, ordinal }, credits: 1 },
})

test('recalls the first answer of each identity, from memory and from the index', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uniqueArray(fc.nat({ max: 60 }), { minLength: 1, maxLength: 12 }), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.integer({ min: 1, max: 30 }),
      async (portions, window) => {
        const journal = await createScratch(openSqlite(':memory:'), { expected: 100, window })
        const kept = new Map<string, number>()
        let ordinal = 0
        for (const portion of portions) {
          const identities = portion.map((pick) => `id ${pick}`)
          const rows = identities.map((identity) => row(ordinal++, identity))
          const recalled = await journal.recall(rows)
          rows.forEach(({ identity = '' }, at) => {
            const first = kept.get(identity)
            expect(recalled[at]?.answer.body).toEqual(
              first === undefined ? undefined : { identity, ordinal: first },
            )
            if (first !== undefined) expect(recalled[at]).toMatchObject({ source: 'duplicate', credits: 0 })
          })
          const fresh = rows.filter(({ identity = '' }) => !kept.has(identity))
          await journal.keep(fresh)
          for (const { identity = '', ordinal: at } of fresh) kept.set(identity, at)
        }
        await journal.close()
      },
    ),
    { numRuns: 100 },
  )
})

test('keeps status, error and an absent body', async () => {
  const journal = await createScratch(openSqlite(folder.path('scratch.db'), { durable: false }))
  const answer = { status: 'not_found', error: 'No company found', body: undefined, credits: 0 } as const
  await journal.keep([{ ...row(7, 'x'), answer }])
  expect(await journal.recall([row(9, 'x'), row(10, undefined)])).toEqual([
    { answer, source: 'duplicate', credits: 0 },
    undefined,
  ])
  await journal.close()
})

test('rows without identity are not kept', async () => {
  const journal = await createScratch(openSqlite(':memory:'))
  await journal.keep([row(0, undefined)])
  expect(await journal.recall([row(1, undefined)])).toEqual([])
  await journal.close()
})

test('with a filter of repeats, keeps what may come again', async () => {
  const repeats = new RepeatFilter(100)
  for (const identity of ['a', 'b', 'a']) repeats.see(hashOf(identity))
  const journal = await createScratch(openSqlite(':memory:'), { repeats })
  await journal.keep([row(0, 'a'), row(1, 'b')])
  const recalled = await journal.recall([row(2, 'a'), row(3, 'b')])
  expect(recalled.map((one) => one?.answer.body)).toEqual([{ identity: 'a', ordinal: 0 }, undefined])
  await journal.close()
})

test('a filter forgets nothing and seldom errs', () => {
  const filter = new IdentityFilter(20_000)
  for (let at = 0; at < 20_000; at++) filter.add(hashOf(`seen ${at}`))
  let wrong = 0
  for (let at = 0; at < 20_000; at++) {
    expect(filter.has(hashOf(`seen ${at}`))).toBe(true)
    if (filter.has(hashOf(`other ${at}`))) wrong++
  }
  expect(wrong).toBeLessThan(400)
})
