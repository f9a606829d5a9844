import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeControls } from '../../../src/api/values/controls.js'
import { barOf, duration, progressText } from '../../../src/cli/output/progress.js'
import { grid, record } from '../../../src/cli/output/table.js'
import { formatNumber, lookOf, oneLine, widthOf } from '../../../src/cli/output/text.js'

const codes = fc.array(fc.nat(0x2fff))
const look = (width: number) => lookOf({ isTTY: true, columns: width }, { NO_COLOR: '1' })

describe('text on a terminal', () => {
  it('escapes everything that a terminal interprets', () => {
    fc.assert(
      fc.property(
        codes.map((each) => String.fromCharCode(...each)),
        (text) => {
          expect(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u.test(escapeControls(text))).toBe(false)
          expect(/[\p{Cc}\p{Bidi_Control}]/u.test(oneLine(text))).toBe(false)
        },
      ),
    )
  })

  it('keeps text in every language unchanged', () => {
    for (const text of ['Škoda Auto a.s.', '東京電力', 'شركة', '👩🏽‍🚀 Space'])
      expect(escapeControls(text)).toBe(text)
  })

  it('measures the width of text in columns', () => {
    expect(['abc', '東京', 'é', 'e\u0301', '🚀'].map(widthOf)).toEqual([3, 4, 1, 1, 2])
  })

  it('groups the digits of numbers', () => {
    expect([0, 999, 1000, 1234567, -1234].map(formatNumber)).toEqual([
      '0',
      '999',
      '1,000',
      '1,234,567',
      '-1,234',
    ])
  })

  it('uses colours only on a terminal that allows them', () => {
    const tty = { isTTY: true }
    const bold = '\u001b[1mx\u001b[22m'
    expect(lookOf(tty, {}).bold('x')).toBe(bold)
    const plain = [
      lookOf({}, {}),
      lookOf(tty, { NO_COLOR: '1' }),
      lookOf(tty, { TERM: 'dumb' }),
      lookOf(tty, {}, false),
    ]
    expect(plain.map((each) => each.bold('x'))).toEqual(['x', 'x', 'x', 'x'])
  })
})

describe('tables and records', () => {
  it('cuts the widest column to fit the terminal', () => {
    const rows = [{ id: 'a', text: 'x'.repeat(200), n: 1234 }]
    const lines = grid(['id', 'text', 'n'], rows, look(40)).trimEnd().split('\n')
    expect(lines).toEqual(['id  text                             n', `a   ${'x'.repeat(26)}…  1,234`])
  })

  it('does not cut columns without a terminal', () => {
    const text = 'x'.repeat(200)
    expect(grid(['text'], [{ text }], lookOf({}, {}))).toContain(text)
  })

  it('aligns numbers right and shows null as empty', () => {
    expect(
      grid(
        ['n', 's'],
        [
          { n: 5, s: null },
          { n: 1000, s: 'x' },
        ],
        look(80),
      ),
    ).toBe('    n  s\n    5\n1,000  x\n')
  })

  it('wraps the values of a record under each other', () => {
    expect(record({ name: 'Acme', text: 'one two three four five', none: null, list: [] }, look(26))).toBe(
      'name  Acme\ntext  one two three four\n      five\n',
    )
  })
})

describe('progress', () => {
  it('shows rows, found, credits, rate and time left', () => {
    expect(progressText({ rows: 500, found: 400, credits: 400, total: 2_000 }, 10_000)).toBe(
      '500 of 2,000 rows · 400 found · 400 credits · 50 rows/s · 30 s left',
    )
    expect(progressText({ rows: 0, found: 0, credits: 0, total: undefined }, 0)).toBe(
      '0 rows · 0 found · 0 credits · 0 rows/s',
    )
    expect(progressText({ rows: 3, found: 1, credits: 1, total: 9 }, 180_000)).toBe(
      '3 of 9 rows · 1 found · 1 credit · 1 row/min · 6 min 0 s left',
    )
  })

  it.each([
    [0, 200, '░░░░░░░░░░░░░░░░░░░░ 0 % · '],
    [90, 200, '█████████░░░░░░░░░░░ 45 % · '],
    [200, 200, '████████████████████ 100 % · '],
    [5, undefined, ''],
    [0, 0, ''],
  ])('shows %d of %j rows as a bar', (rows, total, bar) => {
    expect(barOf({ rows, total })).toBe(bar)
  })

  it.each([
    [0.2, '1 s'],
    [59, '59 s'],
    [61, '1 min 1 s'],
    [3_700, '1 h 1 min'],
  ])('formats %d seconds as %s', (seconds, said) => {
    expect(duration(seconds)).toBe(said)
  })
})
