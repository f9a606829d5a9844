import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Refusal } from '../../src/api/calls/errors.js'
import { decode } from '../../src/csv/encoding.js'
import { AnyRows, type CsvRow, parseRows } from '../../src/csv/parse.js'
import { tries } from '../support/effort.js'
import { encode, inPieces } from './encode.js'

const cell = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[a-zA-Z0-9 .:/?=&@-]{0,12}$/) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom('"', ',', ';', '\t', '|', '\r', '\n', '\r\n', 'é', '日', '𝒜', "'", ' '))
      .map((parts) => parts.join('')),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }).filter((text) => !text.includes('\0')),
  },
)

const generated = fc.record({
  table: fc
    .integer({ min: 2, max: 5 })
    .chain((width) =>
      fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }),
    ),
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  alwaysQuoted: fc.boolean(),
  finalLineEnd: fc.boolean(),
  label: fc.constantFrom('utf-8', 'utf-16le', 'utf-16be'),
  pieces: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 }),
})

type Generated = typeof generated extends fc.Arbitrary<infer T> ? T : never

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

function write({ table, delimiter, lineEnd, alwaysQuoted, finalLineEnd }: Generated): string {
  const one = (text: string) =>
    alwaysQuoted || /["\r\n]/.test(text) || text.includes(delimiter) ? quoted(text) : text
  const rows = table.map((row) => row.map(one).join(delimiter))
  return rows.join(lineEnd) + (finalLineEnd ? lineEnd : '')
}

test('generated tables are read as they were written, whatever the pieces they come in', async () => {
  await fc.assert(
    fc.asyncProperty(generated, async (one) => {
      // A table with tabs may have no quotes: lines in a cell with tabs could be rows.
      const isUnclear = (cell: string) => /\t/.test(cell) && /\n/.test(cell)
      fc.pre(one.delimiter !== '\t' || !one.table.flat().some(isUnclear))
      const bytes = encode(write(one), one.label)
      const texts = decode(inPieces(bytes, one.pieces), { label: one.label, mark: 0 })
      const rows: CsvRow[] = []
      for await (const batch of parseRows(texts, { delimiter: one.delimiter, firstLine: 1 }))
        rows.push(...batch)
      expect(rows.map((row) => row.cells)).toEqual(one.table)
    }),
    { numRuns: tries(400, 5_000) },
  )
})

/** Reads all rows, and returns what stopped the reading and how many pieces it had taken by then. */
async function readUntilRefused(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  options: Partial<Parameters<typeof parseRows>[1]> = {},
) {
  let taken = 0
  const rows: CsvRow[] = []
  async function* counted() {
    for await (const piece of pieces) {
      taken += 1
      yield piece
    }
  }
  try {
    const batches = parseRows(counted(), { delimiter: ',', firstLine: 1, ...options })
    for await (const batch of batches) rows.push(...batch)
  } catch (error) {
    return { rows, taken, refusal: error as Refusal }
  }
  return { rows, taken }
}

function* repeated(text: string, times: number): Generator<Buffer> {
  const piece = Buffer.from(text)
  for (let count = 0; count < times; count++) yield piece
}

test('a row of 120 million delimiters is refused with its line after the longest row that is allowed', async () => {
  const commas = repeated(','.repeat(65_536), 1_832)
  const { rows, taken, refusal } = await readUntilRefused([Buffer.from('a,b\n1,2\n'), ...commas])
  expect(rows).toHaveLength(2)
  expect(refusal).toMatchObject({ code: 'csv.row_too_long', details: { limit: 1_048_576, line: 3 } })
  expect(taken).toBeLessThan(40)
})

test('a row has at most 16,384 cells, quoted or not', async () => {
  const row = (cells: number, cell: string) => Buffer.from(`${Array(cells).fill(cell).join(',')}\n`)
  for (const cell of ['', 'x', '"x"', '"x\r\ny"']) {
    expect((await readUntilRefused([row(16_384, cell)])).rows).toHaveLength(1)
    const { rows, refusal } = await readUntilRefused([
      Buffer.from('a,b\n'),
      row(16_385, cell),
      Buffer.from('c,d\n'),
    ])
    expect(rows).toHaveLength(1)
    expect(refusal).toMatchObject({ code: 'csv.row_too_wide', details: { cells: 16_385, line: 2 } })
  }
})

test('blank lines are not counted as a long row', async () => {
  const blank = repeated('\n'.repeat(65_536), 40)
  const { rows, refusal } = await readUntilRefused([
    Buffer.from('"a",b\nx\r"y"\r'),
    ...blank,
    Buffer.from('c,d\n'),
  ])
  expect(refusal).toBeUndefined()
  expect(rows).toHaveLength(4)
})

// Text that is nearly a table: all that could end, open or break a row.
const nearly = fc
  .array(
    fc.constantFrom('"', '""', ',', ';', '\n', '\r\n', '\r', '\n"', '",', 'a', 'bc', 'é', '𝒜', ' ', "'"),
    {
      maxLength: 40,
    },
  )
  .map((parts) => parts.join(''))
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

/** What the full parser refuses and the fast path may read: quotes that are letters. */
const aboutQuotes = ['csv.quote_inside', 'csv.quote_continues']

// A row that the fast path leaves to the full parser is only read more slowly.
test('the fast path returns the rows, lines and errors of the full parser, and reads more quotes', async () => {
  await fc.assert(
    fc.asyncProperty(nearly, sizes, async (text, pieces) => {
      const options = { firstLine: 3, limit: 40 }
      const fast = await readUntilRefused(inPieces(Buffer.from(text), pieces), options)
      const full = new AnyRows({ delimiter: ',', ...options })
      const first = await full.parse(Buffer.from(text))
      const last = first.failure ? undefined : await full.parseEnd()
      const failure = (first.failure ?? last?.failure) as Refusal | undefined
      const rows = [...first.rows, ...(last?.rows ?? [])]
      const readsMore = aboutQuotes.includes(failure?.code ?? '')
      expect(readsMore ? fast.rows.slice(0, rows.length) : fast.rows).toEqual(rows)
      if (!readsMore) expect(fast.refusal?.details.line).toBe(failure?.details.line)
    }),
    { numRuns: tries(750, 3_000) },
  )
})
