import { describe, expect, it } from 'vitest'
import { type OperationId, operation } from '../../../src/api/operations/table.js'
import { defaultShareOf } from '../../../src/runs/plan/lookup.js'
import {
  countSpendable,
  createQuote,
  type QuoteInput,
  type RowCounts,
  type RunFunds,
} from '../../../src/runs/plan/quote.js'

const counted: RowCounts = {
  rows: 120,
  unique: 100,
  in_store: 10,
  answered: 0,
  invalid: 5,
  skipped: 0,
  known: 0,
  suppressed: 0,
  units: 0,
  lookups: 90,
  most: 270,
  rows_affordable: 120,
  email_only: 0,
  stored: 0,
  not_understood: [],
  invalid_reasons: [{ reason: '"Site" is empty', rows: 5 }],
}
const spendable: RunFunds = { balance: 1_000, allowance: undefined, budget: undefined, quotas: {} }
const facts: QuoteInput = {
  counted,
  spendable,
  windows: [],
  defaultShare: 0.5,
  results: { credits: 0, answers: 0 },
}

const usual = { kind: 'default', share: 0.5 }
const unknown = ['balance', 'weekly_allowance', 'seconds']

const quote = (change: Partial<QuoteInput> = {}) => createQuote({ ...facts, ...change })

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

  it.each<[what: string, change: Partial<QuoteInput>, expected: object]>([
    ['costs 0 to what all lookups can cost', {}, { credits: { min: 0, max: 270 } }],
    ['names its assumption when there is no history', {}, { credits: { expected: 135 }, basis: usual }],
    [
      'expects what own lookups cost before, and names their number',
      { results: { credits: 300, answers: 400 } },
      { credits: { expected: 68 }, basis: { kind: 'own', answers: 400, credits_per_lookup: 0.75 } },
    ],
    [
      'expects mostly the default and gives a range below 50 own lookups',
      { results: { credits: 0, answers: 25 } },
      { credits: { expected: 90 }, expected_range: [60, 120], basis: { ...usual, answers: 25 } },
    ],
    [
      'expects what own lookups cost from 50 on',
      { results: { credits: 0, answers: 50 } },
      { credits: { expected: 0 }, expected_range: null, basis: { kind: 'own', answers: 50 } },
    ],
    [
      'never expects more than the maximum, whatever lookups cost before',
      { results: { credits: 9_000, answers: 10 } },
      { credits: { expected: 270 } },
    ],
    [
      'assumes nothing when nothing can be charged',
      { counted: { ...counted, most: 0 }, results: { credits: 5, answers: 5 } },
      { credits: { min: 0, expected: 0, max: 0 }, basis: { kind: 'certain' } },
    ],
    [
      'is limited by a budget',
      { spendable: { ...spendable, budget: 100, balance: 100 } },
      { credits: { min: 0, expected: 100, max: 100 }, budget: 100, shortage: null },
    ],
    [
      'lists unknown values, which are null',
      { spendable: { ...spendable, balance: null, allowance: null }, windows: null },
      { balance: null, weekly_allowance: null, seconds: null, unknown },
    ],
    ['has limits that do not exist, and are not unknown', {}, { weekly_allowance: null, unknown: [] }],
  ])('%s', (_, change, expected) => {
    expect(quote(change)).toMatchObject(expected)
  })

  it('expects half of the maximum by default, and a tenth where it pays for each job', () => {
    const share = (id: OperationId) => defaultShareOf(operation(id))
    expect([share('accounts.enrich'), share('accounts.hiring')]).toEqual([0.5, 0.1])
  })
})

describe('the maximum of a quote', () => {
  it.each([
    ['the balance', { balance: 269 }, 'credits'],
    ['just the balance', { balance: 270 }, null],
    ['the week', { allowance: 269 }, 'weekly_limit'],
    ['the balance first, as the API says', { balance: 0, allowance: 0 }, 'credits'],
    ['a quota', { quotaLeft: 89 }, 'quota'],
    ['just a quota', { quotaLeft: 90 }, null],
    ['unknown values', { balance: null, allowance: null, quotaLeft: null }, null],
  ])('is compared with %s', (_, change, shortage) => {
    expect(quote({ spendable: { ...spendable, ...change } }).shortage).toBe(shortage)
  })
})

describe('the duration of a quote', () => {
  const minute = { limit: 40, seconds: 60, left: 40, resetsIn: 60 }
  const lasts = (windows: QuoteInput['windows'], lookups = 90) =>
    quote({ windows, counted: { ...counted, lookups } }).seconds

  it.each([
    ['no window at all', [], 90, 0],
    ['no lookup', [minute], 0, 0],
    ['lookups that fit', [minute], 40, 0],
    ['one lookup more', [minute], 41, 60],
    ['three windows', [minute], 90, 120],
    ['a window that is half full', [{ ...minute, left: 20, resetsIn: 15 }], 90, 75],
    ['a window that is full', [{ ...minute, left: 0, resetsIn: 5 }], 40, 5],
    ['two windows, of which the slower counts', [{ ...minute, seconds: 1, resetsIn: 1 }, minute], 90, 120],
  ])('is right with %s', (_, windows, lookups, seconds) => {
    expect(lasts(windows, lookups)).toBe(seconds)
  })

  it('is unknown when a rate limit is unknown, unless nothing is sent', () => {
    expect([lasts(null), lasts(null, 0)]).toEqual([null, 0])
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
