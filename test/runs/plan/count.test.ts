import { expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import { ApiError } from '../../../src/api/calls/errors.js'
import { operation } from '../../../src/api/operations/table.js'
import type { RowOutcome } from '../../../src/lookups/answer.js'
import { openNumbers } from '../../../src/lookups/numbers.js'
import { asRead } from '../../../src/runs/input/mapping.js'
import { identityOf } from '../../../src/runs/plan/lookup.js'
import { type CountRequest, countRows } from '../../../src/runs/plan/quote.js'
import { casesOf } from '../../support/fixtures.js'

type Status = RowOutcome['answer']['status']

const answer = (status: Status): RowOutcome => ({
  answer: { status, error: null, body: undefined, credits: 0 },
  source: 'live',
  credits: 0,
  kept: true,
})

/** Rows, and what is known of them by their number, or by their name and since when. */
interface Case {
  readonly what: string
  /** Written as `name price, name price`. */
  readonly rows: string
  readonly own?: Readonly<Record<string, Status>>
  readonly stored?: Readonly<Record<string, number>>
  readonly funds?: number
  readonly counts: object
}

async function count({ rows: text, own = {}, stored = {}, funds = Number.POSITIVE_INFINITY }: Case) {
  const rows = text.split(', ').map((row) => row.split(' '))
  const seen = openNumbers()
  const counting: CountRequest = {
    table: {
      header: ['name', 'price'],
      rows: async function* () {
        yield rows.map((cells, at) => ({ cells, line: at + 2 }))
      },
    },
    read: ([name, price]) => {
      if (name === 'bad') throw new ApiError('bad_request', { reason: 'bad' })
      return asRead({ name, price: Number(price) })
    },
    explain: ({ message }) => message,
    identity: ({ name }) => (name === 'nobody' ? undefined : String(name)),
    skip: ({ cells: [name] }) => name === 'skip',
    isKnown: ([name]) => name === 'listed',
    most: ({ price }) => Number(price),
    units: ({ price }) => 2 * Number(price),
    lookups: {
      peek: async (asked) =>
        asked.map(({ ordinal, identity = '' }): RowOutcome | undefined => {
          const status = own[ordinal]
          const storedAt = stored[identity]
          if (status) return { ...answer(status), kept: true }
          if (storedAt === undefined) return undefined
          return { answer: answer('found').answer, credits: 0, source: 'store', storedAt }
        }),
    },
    isNew: seen.add,
    funds,
  }
  return countRows(counting).finally(() => seen.close())
}

it.each(casesOf<Case>('runs/plan/counts'))('a count of rows has $what', async (one) => {
  expect(await count(one)).toMatchObject(one.counts)
})

it('the set of seen numbers reports a number as new once, whatever its size', () => {
  const seen = openNumbers()
  const numbers = [0, 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53 - 2, 1]
  expect(numbers.map(seen.add)).toEqual([true, true, true, true, true, false])
  seen.close()
})

it('a count of rows adds up what they can use of a quota, of those alone that are sent', async () => {
  const rows = 'a 1, b 2, c 3, b 2'
  expect(await count({ what: '', rows, stored: { c: 1 }, counts: {} })).toMatchObject({ units: 6 })
})

it('a count of rows has the lowest price of those that are sent', async () => {
  const rows = 'skip 1, a 1, b 3, c 2'
  expect(await count({ what: '', rows, stored: { a: 1 }, counts: {} })).toMatchObject({ least: 2 })
})

it('a lookup with the same options is the same whatever their order', async () => {
  const identity = identityOf(operation('accounts.hiring'), await shapeOf('accounts.hiring'))
  const options = { job_titles: ['CTO'], limit: 3, live: false }
  const turned = Object.fromEntries(Object.entries(options).reverse())
  expect(identity({ domain: 'acme.example', ...options })).toBe(
    identity({ ...turned, domain: 'acme.example' }),
  )
  expect(identity({ domain: 'acme.example', ...options })).not.toBe(identity({ domain: 'acme.example' }))
})
