import { describe, expect, it } from 'vitest'
import { type OperationId, operation } from '../../../src/api/operations/table.js'
import {
  countSpendable,
  createQuote,
  defaultShareOf,
  type QuoteInput,
  type RowCounts,
  type RunFunds,
} from '../../../src/runs/plan/quote.js'
import { casesOf } from '../../support/fixtures.js'

const counted: RowCounts = {
  rows: 120,
  unique: 100,
  in_store: 10,
  done: 0,
  invalid: 5,
  skipped: 0,
  known: 0,
  suppressed: 0,
  units: 0,
  lookups: 90,
  most: 270,
  least: 1,
  rows_affordable: 120,
  email_only: 0,
  paid_again: 0,
  not_understood: [],
  invalid_reasons: [{ reason: '"Site" is empty', rows: 5 }],
}
const spendable: RunFunds = { balance: 1_000, allowance: undefined, budget: undefined, quotas: {} }
const facts: QuoteInput = {
  counted,
  spendable,
  windows: [],
  defaultShare: 0.5,
  results: { credits: 0, answers: 0, runs: 0, rates: [] },
}

/** A change of those facts. */
interface Change extends Partial<Pick<QuoteInput, 'windows' | 'results'>> {
  readonly counted?: Partial<RowCounts>
  readonly spendable?: Partial<RunFunds>
}

const quote = (change: Change = {}) =>
  createQuote({
    ...facts,
    ...change,
    counted: { ...counted, ...change.counted },
    spendable: { ...spendable, ...change.spendable },
  })

describe('a quote', () => {
  it('has the fields of the contract in their order', () => {
    expect(Object.keys(quote()).slice(0, 10)).toEqual(
      'rows unique in_store invalid credits balance weekly_allowance quotas seconds rows_affordable'.split(
        ' ',
      ),
    )
    expect(quote()).toMatchObject({ rows: 120, unique: 100, in_store: 10, invalid: 5, rows_affordable: 120 })
    expect(quote().invalid_reasons).toEqual([{ reason: '"Site" is empty', rows: 5 }])
  })

  it.each(casesOf<[what: string, change: Change, expected: object]>('runs/plan/quotes'))(
    '%s',
    (_, change, expected) => {
      expect(quote(change)).toMatchObject(expected)
    },
  )

  it('expects nothing of a budget that pays for no row, and says what one can cost', () => {
    const of = (budget: number) => quote({ counted: { least: 30 }, spendable: { budget } })
    expect(of(29)).toMatchObject({
      credits: { min: 0, expected: 0, max: 0 },
      expected_range: null,
      least_needed: 30,
    })
    expect(of(30)).toMatchObject({ credits: { expected: 30, max: 30 }, least_needed: null })
    expect(quote()).toMatchObject({ least_needed: null })
  })

  it('expects half of the maximum by default, and a tenth where it pays for each job', () => {
    const share = (id: OperationId) => defaultShareOf(operation(id))
    expect([share('accounts.enrich'), share('accounts.hiring')]).toEqual([0.5, 0.1])
  })
})

describe('the spendable credits', () => {
  it('are the lowest of balance, allowance and budget', () => {
    expect(countSpendable({ balance: 9, allowance: 8, budget: 7 })).toBe(7)
    expect(countSpendable({ balance: 9, allowance: undefined, budget: undefined })).toBe(9)
    expect(countSpendable({ balance: null, allowance: null, budget: undefined })).toBe(
      Number.POSITIVE_INFINITY,
    )
  })
})
