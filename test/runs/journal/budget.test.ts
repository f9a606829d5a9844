import { expect, it } from 'vitest'
import { QuotaBudget } from '../../../src/runs/journal/budget.js'
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
