import { expect, it } from 'vitest'
import { type Tenure, tenureAt } from '../../../src/api/values/dates.js'

const terms = (
  position: readonly [number, number] | null,
  company: readonly [number, number] | null,
): Tenure => ({
  years_in_position: position?.[0] ?? null,
  months_in_position: position?.[1] ?? null,
  years_in_company: company?.[0] ?? null,
  months_in_company: company?.[1] ?? null,
})
const now = Date.parse('2026-03-10T12:00:00Z')

it.each<[string, string | undefined, Tenure, Tenure]>([
  ['full months alone', '2024-01-11', terms(null, null), terms([2, 1], [2, 1])],
  ['the month that ends today', '2024-01-10', terms(null, null), terms([2, 2], [2, 2])],
  ['nothing of what lies ahead', '2026-05-01', terms(null, null), terms([0, 0], [0, 0])],
  ['a moment as its day', '2026-02-10T23:00:00Z', terms(null, null), terms([0, 1], [0, 1])],
  ['a longer term in the company', '2026-02-10', terms([9, 9], [3, 4]), terms([0, 1], [3, 4])],
  ['no shorter term in the company', '2024-03-10', terms(null, [1, 0]), terms([2, 0], [2, 0])],
  ['what was given where no day is known', undefined, terms([1, 2], [3, 4]), terms([1, 2], [3, 4])],
  ['what was given where the day is none', '2025-02-30', terms([1, 2], null), terms([1, 2], null)],
])('counts %s', (_, startedAt, given, expected) => {
  expect(tenureAt(startedAt, given, now)).toEqual(expected)
})
