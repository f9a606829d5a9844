import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operation } from '../../../src/api/operations/table.js'
import { escapeControls } from '../../../src/api/values/json.js'
import { stepText } from '../../../src/cli/call/result.js'
import {
  barOf,
  fitParts,
  type Money,
  progressParts,
  startProgress,
} from '../../../src/cli/output/progress.js'
import { grid, record } from '../../../src/cli/output/table.js'
import {
  cutPath,
  drawable,
  duration,
  formatNumber,
  formatTime,
  isAscii,
  lookOf,
  oneLine,
  shortenId,
  wrapText,
} from '../../../src/cli/output/text.js'
import { widthOf } from '../../../src/cli/output/width.js'
import { createContext } from '../../../src/cli/target/create.js'
import type { Step } from '../../../src/runs/output/report.js'
import { streamsOf } from '../../support/command.js'

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
    expect([0, 999, 1000, 1234567, -1234, 0.12345, 1234.5678].map(formatNumber)).toEqual(
      '0 999 1,000 1,234,567 -1,234 0.12345 1,234.5678'.split(' '),
    )
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

describe('text that fits', () => {
  const at = (ms: number, isTerminal = true) =>
    formatTime(new Date(1_800_000_000_000 + ms).toISOString(), { isTerminal, now: 1_800_000_000_000 })

  it.each([
    ['/home/ann/exports/crm.csv', 16, '…/crm.csv'],
    ['/home/ann/exports/crm.csv', 18, '…/exports/crm.csv'],
    ['/home/ann/exports/crm.csv', 25, '/home/ann/exports/crm.csv'],
    ['/a/companies of the quarter.csv', 12, '…quarter.csv'],
  ])('cuts the path %s at its front to %d columns', (path, width, cut) => {
    expect(cutPath(path, width, { isAscii: false })).toBe(cut)
    expect(widthOf(cutPath(path, width, { isAscii: true }))).toBeLessThanOrEqual(width)
  })

  it('breaks lines between words, and a word only where it is longer than a line', () => {
    expect(wrapText('one two three', 8)).toEqual(['one two', 'three'])
    expect(wrapText('a 1,234,567,890 b', 8)).toEqual(['a', '1,234,56', '7,890 b'])
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 20 }), (text, width) => {
        for (const line of wrapText(text, width)) expect(widthOf(line)).toBeLessThanOrEqual(width)
      }),
    )
  })

  it.each([
    [0, 'now'],
    [-3_000, '3 s ago'],
    [42_000, 'in 42 s'],
    [-180_000, '3 min ago'],
    [3 * 3_600_000, 'in 3 h'],
    [-3 * 86_400_000, '3 days ago'],
    [30 * 86_400_000, '2027-02-14'],
  ])('says a time %d ms from now as %s', (ms, text) => {
    expect(at(ms)).toBe(text)
  })

  it('says times in ISO where there is no terminal', () => {
    expect(at(-3_000, false)).toBe('2027-01-15T07:59:57.000Z')
  })

  it('shortens ids as far as they differ', () => {
    const ids = ['7f6f2d0e-aaaa', '7f6f2d0e-abbb', '9', 'msg_2f1f7c7e-5f0a']
    expect(ids.map((id) => shortenId(id, ids))).toEqual(['7f6f2d0e-aa', '7f6f2d0e-ab', '9', 'msg_2f1f7c7e'])
  })

  it('draws in ASCII where the locale is not UTF-8', () => {
    expect(
      [{}, { LANG: 'de_DE.UTF-8' }, { LC_ALL: 'C', LANG: 'C.UTF-8' }, { LANG: 'C' }].map(isAscii),
    ).toEqual([false, false, true, true])
    expect(drawable('1,204 rows · …', { isAscii: true })).toBe('1,204 rows - ...')
  })

  it('has colours in a pipe with FORCE_COLOR, and none with FORCE_COLOR=0', () => {
    const red = (env: Record<string, string>, isTTY: boolean) => lookOf({ isTTY }, env).red('x') !== 'x'
    expect(red({ FORCE_COLOR: '1', NO_COLOR: '1' }, false)).toBe(true)
    expect(red({ FORCE_COLOR: '0' }, true)).toBe(false)
  })
})

describe('tables and records', () => {
  it('cuts the widest column to fit the terminal', () => {
    const rows = [{ id: 'a', text: 'x'.repeat(200), n: 1234 }]
    const lines = grid(['id', 'text', 'n'], rows, look(40)).trimEnd().split('\n')
    expect(lines).toEqual([`ID  Text${' '.repeat(31)}N`, `a   ${'x'.repeat(28)}…  1,234`])
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
    ).toBe('    N  S\n    5\n1,000  x\n')
  })

  it('does not group the digits of an id', () => {
    expect(record({ network_list_id: 130589833995924, founded_year: 1998, rows: 1234 }, look(80))).toMatch(
      /130589833995924\n.*1998\n.*1,234\n$/,
    )
  })

  it('wraps the values of a record under each other', () => {
    expect(record({ name: 'Acme', text: 'one two three four five', none: null, list: [] }, look(26))).toBe(
      'Name  Acme\nText  one two three four\n      five\n',
    )
  })
})

describe('progress', () => {
  const text = (step: Step, elapsedMs = 0, money: Money = {}, width = 200) =>
    fitParts(progressParts(step, elapsedMs, 0, money), width)
  const half = { rows: 500, found: 400, credits: 400, total: 1_000 }

  it('shows percent, rows, found, credits, rate and time left', () => {
    expect(text({ rows: 3, found: 1, credits: 1, total: 9 }, 180_000)).toBe(
      '33 % · 3 of 9 rows · 1 found · 1 credit · 1 row/min · 6 min 0 s left',
    )
  })

  it('counts the wait for the rate limit down, and in the time left', () => {
    // 100 rows in a second, then a wait of 59 s: 100 rows a minute.
    const waiting = { rows: 100, found: 100, credits: 0, total: 1_000, waitsUntil: 59_000 }
    expect(text(waiting, 60_000)).toBe(
      '10 % · 100 of 1,000 rows · 100 found · 0 credits · waiting 59 s for the rate limit · 9 min 0 s left',
    )
  })

  it('of a job never shows a total below the count, and the credits of a priced one', () => {
    const text = stepText({ kind: 'stack_import', operation: operation('intents.stack') })
    expect(text({ rows: 12, found: 12, total: 10, credits: 36 })).toBe('12 of 12 companies · 36 credits')
  })

  it.each([
    ['a terminal without a cursor', { env: { TERM: 'dumb' }, terminal: true }],
    ['a log', {}],
  ])('is a plain line every 10 s in %s', async (_, given) => {
    let now = 0
    const streams = streamsOf(given)
    const context = createContext(streams, { clock: { now: () => now } })
    const progress = await startProgress(context)
    for (const seconds of [5, 10, 15, 20]) {
      now = seconds * 1_000
      progress.update({ ...half, rows: 25 * seconds, found: 0, credits: 0 })
    }
    progress.stop()
    await context.close()
    expect(streams.stderr.text()).toMatch(/^25 % [ -~·]+\n50 % [ -~·]+\n$/)
  })

  it('leaves the rows of an earlier execution out of the rate and the time left', () => {
    expect(text({ ...half, replayed: 400 }, 10_000)).toContain('10 rows/s · 50 s left')
  })

  it('leaves out what matters least where the terminal is narrow', () => {
    const money = { budget: 600, balance: 5_000 }
    for (let width = 30; width < 120; width++)
      expect(widthOf(text(half, 10_000, money, width))).toBeLessThanOrEqual(width)
  })

  it.each([
    [0, 200, '░░░░░░░░░░░░░░░░░░░░'],
    [200, 200, '████████████████████'],
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
