import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Refusal } from '../../src/api/calls/errors.js'
import { decode } from '../../src/csv/encoding.js'
import { type CsvRow, parseRows } from '../../src/csv/parse.js'
import { tries } from '../support/effort.js'

const utf16le = (text: string) => Buffer.from(text, 'utf16le')
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

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

async function* inPieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

const encoders = { 'utf-8': Buffer.from, 'utf-16le': utf16le, 'utf-16be': utf16be }

test('generated tables are read as they were written, whatever the pieces they come in', async () => {
  await fc.assert(
    fc.asyncProperty(generated, async (one) => {
      const encode: (text: string) => Buffer = encoders[one.label as keyof typeof encoders]
      const texts = decode(inPieces(encode(write(one)), one.pieces), { label: one.label, mark: 0 })
      const rows: CsvRow[] = []
      for await (const batch of parseRows(texts, { delimiter: one.delimiter, firstLine: 1 }))
        rows.push(...batch)
      expect(rows.map((row) => row.cells)).toEqual(one.table)
    }),
    { numRuns: tries(400, 5_000) },
  )
})

/** Reads all rows, and returns what stopped the reading and how many pieces it had taken by then. */
async function readUntilRefused(pieces: Iterable<Buffer>) {
  let taken = 0
  let rows = 0
  async function* counted() {
    for (const piece of pieces) {
      taken += 1
      yield piece
    }
  }
  try {
    for await (const batch of parseRows(counted(), { delimiter: ',', firstLine: 1 })) rows += batch.length
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
  expect(rows).toBe(2)
  expect(refusal).toMatchObject({ code: 'csv.row_too_long', details: { limit: 1_048_576, line: 3 } })
  expect(taken).toBeLessThan(40)
})

test('a row has at most 16,384 cells, quoted or not', async () => {
  const row = (cells: number, cell: string) => Buffer.from(`${Array(cells).fill(cell).join(',')}\n`)
  for (const cell of ['', 'x', '"x"', '"x\r\ny"']) {
    expect((await readUntilRefused([row(16_384, cell)])).rows).toBe(1)
    const { rows, refusal } = await readUntilRefused([
      Buffer.from('a,b\n'),
      row(16_385, cell),
      Buffer.from('c,d\n'),
    ])
    expect(rows).toBe(1)
    expect(refusal).toMatchObject({ code: 'csv.row_too_wide', details: { cells: 16_385, line: 2 } })
  }
})

test('blank lines are not counted as a long row', async () => {
  const blank = repeated('\n'.repeat(65_536), 40)
  const { rows, refusal } = await readUntilRefused([
    Buffer.from('"a" ,b\n'.replace(' ', '')),
    Buffer.from('x\r"y"\r'),
    ...blank,
    Buffer.from('c,d\n'),
  ])
  expect(refusal).toBeUndefined()
  expect(rows).toBe(4)
})
