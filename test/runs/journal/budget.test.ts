import { expect, it } from 'vitest'
import { grantCredits, QuotaBudget } from '../../../src/runs/journal/budget.js'
import type { AnsweredRow, WantedRow } from '../../../src/runs/journal/journal.js'

const row = (ordinal: number, units: number) => ({ ordinal, units }) as WantedRow

it('a quota leaves room for what rows under way can still use, and counts what they used', () => {
  const budget = new QuotaBudget(10, 1, () => 2)
  const wanted = [row(2, 2), row(3, 2), row(4, 2)]
  const fitting = () => budget.fitting(wanted).map(({ ordinal }) => ordinal)
  expect(fitting()).toEqual([2, 3, 4])
  budget.hold(row(0, 3))
  budget.hold(row(1, 3))
  expect(fitting()).toEqual([2])
  const answered = [0, 7].map((ordinal) => ({ ordinal, answer: { body: {} } }) as AnsweredRow)
  budget.settle(answered)
  expect(fitting()).toEqual([2, 3])
})

it.each([
  [
    'rows that fit in, in their order',
    [1, 2, 2, 1],
    {},
    undefined,
    [{ credits: 1 }, { credits: 2 }, { credits: 2 }],
  ],
  [
    'no row of an earlier part more than it has',
    [1, 1],
    { credits: 0, reserved: 2 },
    1,
    [{ credits: 0 }, { credits: 0 }],
  ],
  [
    'only those that a lowered budget has room for',
    [1, 1],
    { credits: -1, reserved: 2 },
    1,
    [{ credits: 0 }],
  ],
  ['the last row what is left, with fewer records', [9], {}, undefined, [{ credits: 5, limit: 5 }]],
  ['nothing to a row that is too dear while others may release credits', [9], { reserved: 3 }, undefined, []],
  ['no row of an earlier part fewer records', [9], {}, 9, []],
])('a budget grants %s', (_, most, left, claimed, grants) => {
  const rows = most.map((credits, ordinal) => ({ ordinal, most: credits, perRecord: 1 }) as WantedRow)
  const shortage = { budget: 'run', credits: 5 } as const
  const given = { credits: 5, reserved: 0, unknown: 0, shortage, ...left }
  expect(grantCredits(rows, given, { underWay: 0, of: () => claimed })).toEqual(grants)
})
