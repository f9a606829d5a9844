import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defuse, undefuse } from '../../src/csv/cells.js'
import { anyCodePoint } from '../support/any-text.js'
import { tries } from '../support/effort.js'
import { hostile } from './hostile.js'

describe('escaping formulas', () => {
  test.each([
    '=1+1',
    '+A1',
    '-A1',
    '@SUM(A1)',
    '\tx',
    '\rx',
    '\nx',
    '\0x',
    '+',
    '-x',
    '--1',
    '-1+cmd|',
    '+49 89 SUM(A1)',
    '+1 (415) 555-0132*A1',
    '+1(415)555-0132!A1',
    "'=1",
    '+1 555',
    '+1-2',
    '-1-2',
  ])('puts an apostrophe before %j', (cell) => {
    expect(defuse(cell)).toBe(`'${cell}`)
  })

  test.each([
    '+33612345678',
    '+49 89 123456',
    '+49 (0)89/123 456',
    '+1 (415) 555-0132',
    '+44 (0) 20 7946 0018',
    '+33.6.39.98.00.01',
    '-',
    '--',
    '---',
    '–',
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
  ])('leaves %j unchanged', (cell) => {
    expect(defuse(cell)).toBe(cell)
    expect(undefuse(cell)).toBe(cell)
  })

  test('is undone when the cell is read back', () => {
    fc.assert(
      fc.property(
        fc.oneof(hostile, fc.string({ unit: anyCodePoint })),
        (cell) => undefuse(defuse(cell)) === cell,
      ),
      { numRuns: tries(1_250, 5_000) },
    )
  })
})
