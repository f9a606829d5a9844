import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Refusal } from '../../src/api/calls/errors.js'
import { AnyRows, type CsvRow, PlainRows, parseRows } from '../../src/csv/parse.js'
import { tries } from '../support/effort.js'

const limit = 40

/** Text that is nearly a table: all that could end, open or break a row. */
const text = fc
  .array(
    fc.constantFrom('"', '""', ',', ';', '\n', '\r\n', '\r', '\n"', '",', 'a', 'bc', 'é', '𝒜', ' ', "'"),
    {
      maxLength: 40,
    },
  )
  .map((parts) => parts.join(''))
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

interface Outcome {
  readonly rows: readonly CsvRow[]
  readonly line?: number | undefined
}

async function* inPieces(bytes: Buffer, of: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + (of[turn % of.length] ?? 1)
    yield bytes.subarray(at, end)
    at = end
  }
}

async function parsed(bytes: Buffer, looseQuotes: boolean, of: readonly number[]): Promise<Outcome> {
  const rows: CsvRow[] = []
  try {
    const options = { delimiter: ',', firstLine: 3, looseQuotes, limit }
    for await (const some of parseRows(inPieces(bytes, of), options)) rows.push(...some)
    return { rows }
  } catch (error) {
    return { rows, line: (error as Refusal).details.line as number }
  }
}

async function parsedByOne(bytes: Buffer, looseQuotes: boolean): Promise<Outcome> {
  const parser = new AnyRows({ delimiter: ',', firstLine: 3, looseQuotes, limit })
  const first = await parser.take(bytes)
  const last = first.failure ? undefined : await parser.end()
  const failure = first.failure ?? last?.failure
  const rows = [...first.rows, ...(last?.rows ?? [])]
  return failure ? { rows, line: (failure as Refusal).details.line as number } : { rows }
}

describe('the fast path of the CSV parser', () => {
  test('returns the same rows, lines and errors as the full parser', async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.boolean(), sizes, async (one, looseQuotes, of) => {
        const bytes = Buffer.from(one)
        expect(await parsed(bytes, looseQuotes, of)).toEqual(await parsedByOne(bytes, looseQuotes))
      }),
      { numRuns: tries(750, 3_000) },
    )
  })

  test('accepts quoted cells with line feeds and doubled quotes', () => {
    const rows = new PlainRows(';', 1, 1_000)
    expect(rows.take(Buffer.from('a;b\r\n\n"x;\n""y""";\n"open'))).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 3, cells: ['x;\n"y"', ''] },
    ])
    expect([rows.stopped, rows.line, rows.rest.toString()]).toEqual([false, 5, '"open'])
  })

  test.each([
    ['a quote within a cell', 'a"b,c\n'],
    ['a cell that goes on behind its quote', '"a"b,c\n'],
    ['a row that ends with CR alone', 'a,b\rc\n'],
    ['a row that is too long', `${'x'.repeat(1_001)}\n`],
  ])('stops before %s', (_, odd) => {
    const rows = new PlainRows(',', 1, 1_000)
    expect(rows.take(Buffer.from(`plain,row\n${odd}more,rows\n`))).toHaveLength(1)
    expect([rows.stopped, rows.line, rows.rest.toString()]).toEqual([true, 2, `${odd}more,rows\n`])
  })
})
