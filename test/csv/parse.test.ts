import { type CsvError as Invalid, parse as parseByPackage } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
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

test('generated tables are read as they were written, with their lines, whatever the pieces they come in', async () => {
  await fc.assert(
    fc.asyncProperty(generated, async (one) => {
      const encode: (text: string) => Buffer = encoders[one.label as keyof typeof encoders]
      const texts = decode(inPieces(encode(write(one)), one.pieces), { label: one.label, mark: 0 })
      const rows: CsvRow[] = []
      for await (const batch of parseRows(texts, { delimiter: one.delimiter, firstLine: 1 }))
        rows.push(...batch)
      expect(rows.map((row) => row.cells)).toEqual(one.table)
      const before = (rows: number) => write({ ...one, table: one.table.slice(0, rows), finalLineEnd: true })
      const lines = one.table.map((_, at) => (at === 0 ? 1 : before(at).split(/\r\n|\r|\n/).length))
      expect(rows.map((row) => row.line)).toEqual(lines)
    }),
    { numRuns: tries(400, 5_000) },
  )
})

/** Text that is nearly a table: all that could end, open or break a row. */
const signs = ['"', '""', ',', ';', '\n', '\r\n', '\r', '\n"', '",', 'a', 'bc', 'é', '𝒜', ' ', "'"]
const hostile = fc.array(fc.constantFrom(...signs), { maxLength: 40 })

interface Outcome {
  readonly rows: readonly (readonly string[])[]
  readonly isRefused: boolean
}

async function parsed(texts: readonly string[], looseQuotes: boolean): Promise<Outcome> {
  const rows: (readonly string[])[] = []
  const pieces = texts.map((text) => Buffer.from(text))
  try {
    for await (const some of parseRows(asStream(pieces), { delimiter: ',', firstLine: 1, looseQuotes }))
      rows.push(...some.map(({ cells }) => cells))
    return { rows, isRefused: false }
  } catch {
    return { rows, isRefused: true }
  }
}

function parsedByPackage(text: string, looseQuotes: boolean): Outcome {
  const rows: (readonly string[])[] = []
  try {
    parseByPackage(text, {
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      relax_quotes: looseQuotes,
      on_record: (cells) => {
        rows.push(cells)
        return cells
      },
    })
    return { rows, isRefused: false }
  } catch (error) {
    expect((error as Invalid).code).toMatch(/QUOTE/)
    return { rows, isRefused: true }
  }
}

async function* asStream(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces
}

test('any text has the rows, and is refused after them, as csv-parse says', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, fc.boolean(), async (texts, looseQuotes) => {
      expect(await parsed(texts, looseQuotes)).toEqual(parsedByPackage(texts.join(''), looseQuotes))
    }),
    { numRuns: tries(750, 3_000) },
  )
})

test('an error names the line on which its row begins', async () => {
  const broken = ['"a\r\nb",c\n\n', 'd\r"e\n', '\nf"g,', 'h"\n']
  const rows = parseRows(asStream(broken.map((text) => Buffer.from(text))), { delimiter: ',', firstLine: 3 })
  await expect(Array.fromAsync(rows)).rejects.toMatchObject({ line: 7 })
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
    return { rows, taken, error: error as Error & { readonly exit?: number } }
  }
  return { rows, taken }
}

function* repeated(text: string, times: number): Generator<Buffer> {
  const piece = Buffer.from(text)
  for (let count = 0; count < times; count++) yield piece
}

test('a row of 120 million delimiters is refused with its line after the longest row that is allowed', async () => {
  const commas = repeated(','.repeat(65_536), 1_832)
  const { rows, taken, error } = await readUntilRefused([Buffer.from('a,b\n1,2\n'), ...commas])
  expect([rows, error?.exit]).toEqual([2, 2])
  expect(error?.message).toMatch(/Line 3: the row that begins here is longer than 1048576 bytes/i)
  expect(taken).toBeLessThan(40)
})

test('a row has at most 16,384 cells, quoted or not', async () => {
  const row = (cells: number, cell: string) => Buffer.from(`${Array(cells).fill(cell).join(',')}\n`)
  for (const cell of ['', 'x', '"x"', '"x\r\ny"']) {
    expect((await readUntilRefused([row(16_384, cell)])).rows).toBe(1)
    const { rows, error } = await readUntilRefused([
      Buffer.from('a,b\n'),
      row(16_385, cell),
      Buffer.from('c,d\n'),
    ])
    expect([rows, error?.exit]).toEqual([1, 2])
    expect(error?.message).toMatch(/Line 2: .*16,385 cells/i)
  }
})

test('a quote that is never closed is refused with the line of its row', async () => {
  const { rows, error } = await readUntilRefused([Buffer.from('a,b\n1,"2\n3,4\n')])
  expect([rows, error?.message]).toEqual([1, expect.stringMatching(/^Line 2: a quote is opened in this row/)])
})

test('blank lines are not counted as a long row', async () => {
  const blank = repeated('\n'.repeat(65_536), 40)
  const { rows, error } = await readUntilRefused([
    Buffer.from('"a" ,b\n'.replace(' ', '')),
    Buffer.from('x\r"y"\r'),
    ...blank,
    Buffer.from('c,d\n'),
  ])
  expect(error).toBeUndefined()
  expect(rows).toBe(4)
})
