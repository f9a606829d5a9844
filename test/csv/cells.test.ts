import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defuse, undefuse } from '../../src/csv/cells.js'
import { anyCodePoint } from '../support/any-text.js'
import { tries } from '../support/effort.js'
import { casesOf } from '../support/fixtures.js'
import { hostile } from './hostile.js'

describe('escaping formulas', () => {
  test.each(casesOf<string>('csv/cells/puts-an-apostrophe-before'))(
    'puts an apostrophe before %j',
    (cell) => {
      expect(defuse(cell)).toBe(`'${cell}`)
    },
  )

  test.each(casesOf<string>('csv/cells/leaves-unchanged'))('leaves %j unchanged', (cell) => {
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
