import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../src/api/calls/errors.js'
import { openNumbers } from '../../../src/runs/journal/answers.js'
import type { RowOutcome } from '../../../src/runs/journal/journal.js'
import { type CountRequest, countRows } from '../../../src/runs/plan/quote.js'

const answer = (status: RowOutcome['answer']['status']): RowOutcome => ({
  answer: { status, error: null, body: undefined, credits: 0 },
  source: 'live',
  credits: 0,
  kept: true,
})

/** Rows of a name and a price; what is known of them by their number, or by their name and since when. */
interface Known {
  readonly own?: Readonly<Record<number, RowOutcome>>
  readonly stored?: Readonly<Record<string, number>>
  readonly funds?: number
}

/** Counts rows that are written as `name price, name price`. */
async function count(text: string, known: Known = {}) {
  const rows = text.split(', ').map((row) => row.split(' '))
  const { own = {}, stored = {}, funds = Number.POSITIVE_INFINITY } = known
  const seen = openNumbers()
  const counting: CountRequest = {
    table: {
      header: ['name', 'price'],
      rows: async function* () {
        yield rows.map((cells, at) => ({ cells, line: at + 2 }))
      },
    },
    input: ([name, price]) => {
      if (name === 'bad') throw new ApiError('bad_request', { reason: 'bad' })
      return { name, price: Number(price) }
    },
    explain: ({ message }) => message,
    identity: ({ name }) => (name === 'nobody' ? undefined : String(name)),
    skip: ([name]) => name === 'skip',
    most: ({ price }) => Number(price),
    journal: {
      resume: async () => new Map(Object.entries(own).map(([at, one]) => [Number(at), one])),
      recall: async (asked) =>
        asked.map(({ identity = '' }) => {
          const storedAt = stored[identity]
          return storedAt === undefined ? undefined : { ...answer('found'), source: 'store', storedAt }
        }),
    },
    isNew: seen.add,
    funds,
  }
  return countRows(counting).finally(() => seen.close())
}

describe('counting the rows of a file', () => {
  it.each<[what: string, rows: string, known: Known, counts: object]>([
    [
      'one lookup and its cost for each identity',
      'a 1, b 2, a 1, nobody 4, nobody 4',
      {},
      { rows: 5, unique: 4, lookups: 4, most: 11 },
    ],
    [
      'no lookup for invalid and skipped rows',
      'bad 1, skip 1, a 1',
      {},
      { rows: 3, invalid: 1, skipped: 1, unique: 1, lookups: 1, most: 1 },
    ],
    [
      'no cost for stored answers, and since when the oldest is stored',
      'a 1, b 2, a 1, c 4, d 4',
      { stored: { a: 30, c: 20, d: 40 } },
      { unique: 4, in_store: 3, oldestStored: 20, lookups: 1, most: 2 },
    ],
    [
      'no cost for rows that the run has answered before',
      'a 1, b 2, a 1',
      { own: { 0: answer('found') } },
      { unique: 2, answered: 1, lookups: 1, most: 2 },
    ],
    [
      'a lookup when the answer of an equal row cannot be shared',
      'a 1, a 1, a 1',
      { own: { 0: answer('invalid') } },
      { answered: 1, lookups: 1, most: 1 },
    ],
  ])('counts %s', async (_, rows, known, counts) => {
    expect(await count(rows, known)).toMatchObject(counts)
  })
})

describe('the affordable rows', () => {
  it.each([
    [0, 0],
    [2, 1],
    [3, 1],
    [5, 2],
    [6, 4],
  ])('with %i credits are the first %i', async (funds, affordable) => {
    expect(await count('a 2, b 3, c 1, a 2', { funds })).toMatchObject({ rows_affordable: affordable })
  })
})

describe('the set of seen numbers', () => {
  it('reports a number as new once, whatever its size', () => {
    const seen = openNumbers()
    const numbers = [0, 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53 - 2, 1]
    expect(numbers.map(seen.add)).toEqual([true, true, true, true, true, false])
    seen.close()
  })
})
