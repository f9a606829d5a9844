import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decode } from '../../src/csv/encoding.js'
import { parseRows, type Row } from '../../src/csv/parse.js'
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
      const rows: Row[] = []
      for await (const batch of parseRows(texts, { delimiter: one.delimiter, firstLine: 1 }))
        rows.push(...batch)
      expect(rows.map((row) => row.cells)).toEqual(one.table)
    }),
    { numRuns: tries(1_000, 5_000) },
  )
})
