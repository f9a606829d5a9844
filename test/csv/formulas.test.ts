import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defuse, undefuse } from '../../src/csv/formulas.js'
import { hostile } from './hostile.js'

describe('safe cells', () => {
  test.each([
    '=1+1',
    '+A1',
    '-A1',
    '@SUM(A1)',
    '\tx',
    '\rx',
    '\nx',
    '\0x',
    '-',
    '+',
    "'=1",
    '+1 555',
    '-1-2',
  ])('%j gets an apostrophe', (cell) => {
    expect(defuse(cell)).toBe(`'${cell}`)
  })

  test.each([
    '+33612345678',
    '-5',
    '+3.5',
    '-1,234.50',
    '-.5',
    '1e-3',
    '',
    'a=b',
    "'quoted'",
    "'+33612345678",
    'x',
    '日',
  ])('%j is left alone', (cell) => {
    expect(defuse(cell)).toBe(cell)
    expect(undefuse(cell)).toBe(cell)
  })

  test('what was made safe is read back as it was', () => {
    fc.assert(
      fc.property(
        fc.oneof(hostile, fc.string({ unit: 'binary' })),
        (cell) => undefuse(defuse(cell)) === cell,
      ),
      { numRuns: 5_000 },
    )
  })
})
