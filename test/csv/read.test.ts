import { describe, expect, test } from 'vitest'
import { Refusal } from '../../src/api/calls/errors.js'
import { describe as sentenceOf } from '../../src/cli/messages.js'
import { detectEncoding } from '../../src/csv/detect-encoding.js'
import { sampleOf } from '../../src/csv/encoding.js'
import { type CsvRow, type RowOptions, readRows } from '../../src/csv/parse.js'
import { detectFormat } from '../../src/csv/table-format.js'
import { casesOf } from '../support/fixtures.js'
import { encode, inPieces } from './encode.js'

/** Reads a table up to its end, or to the error in it. */
async function readOn(content: string | Buffer, options: RowOptions = {}, pieces?: readonly number[]) {
  const bytes = Buffer.from(content)
  const encoding = detectEncoding(bytes.subarray(0, 65_536))
  const detected = detectFormat(sampleOf(bytes.subarray(0, 65_536), encoding))
  const rows: CsvRow[] = []
  let error: unknown
  try {
    for await (const batch of readRows(inPieces(bytes, pieces), encoding, detected, options))
      rows.push(...batch)
  } catch (thrown) {
    error = thrown
  }
  return {
    error,
    encoding: encoding.label,
    delimiter: detected.delimiter,
    cells: rows.map((row) => row.cells),
    lines: rows.map((row) => row.line),
  }
}

async function readAll(...how: Parameters<typeof readOn>) {
  const read = await readOn(...how)
  if (read.error) throw read.error
  return read
}

async function refusal(...how: Parameters<typeof readOn>): Promise<Refusal> {
  const { error } = await readOn(...how)
  if (error instanceof Refusal) return error
  throw error ?? new Error('the file was accepted')
}

test.each(['utf-8', 'utf-16le', 'utf-16be'])(
  'the encoding of a file is that of its mark, however its characters are cut: %s',
  async (label) => {
    const text = '\ufeffname;pays\nSociété Générale;日本\n"𝒜 𝒷";x\n'
    const { encoding, cells } = await readAll(encode(text, label), {}, [1])
    expect(encoding).toBe(label)
    expect(cells).toEqual([
      ['name', 'pays'],
      ['Société Générale', '日本'],
      ['𝒜 𝒷', 'x'],
    ])
  },
)

test.each(casesOf<[string, string]>('csv/read/has-its-delimiter-detected'))(
  'a file has its delimiter detected: %j',
  async (delimiter, content) => {
    const read = await readAll(content)
    expect(read.delimiter).toBe(delimiter)
    for (const cells of read.cells) expect(cells).toHaveLength(read.cells[0]?.length ?? 0)
  },
)

describe('the rows of a file', () => {
  test.each(casesOf<[string, string, RowOptions, string[][], number[]]>('csv/read/rows'))(
    '%s',
    async (_, content, options, cells, lines) => {
      expect(await readAll(content, options)).toMatchObject({ cells, lines })
    },
  )

  test('before an error are returned before it', async () => {
    const { cells, error } = await readOn('a,b\n1,2\n3,"x\n4,5\n')
    expect(cells).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ])
    expect(error).toBeInstanceOf(Refusal)
  })
})

describe('a file that is not a table is refused with its line', () => {
  test.each(casesOf<[string, string, string, number, string]>('csv/read/refused'))(
    'because of %s',
    async (_, label, content, line, sentence) => {
      const bytes = label === 'bytes' ? Buffer.from(content, 'latin1') : encode(content, label)
      const error = await refusal(bytes)
      expect(error.details.line).toBe(line)
      expect(sentenceOf(error)).toContain(sentence)
      expect(sentenceOf(error)).toContain(`Line ${line}: `)
    },
  )

  test('when a row exceeds the size limit', async () => {
    const content = `a,b\n1,2\n3,"${'x'.repeat(5_000)}"\n`
    expect((await readAll(content)).cells).toHaveLength(3)
    expect((await refusal(content, { limit: 4_000 })).details.line).toBe(3)
  })

  test('when the error is far beyond the first chunk', async () => {
    const error = await refusal(`a,b\n${'1,2\n'.repeat(200_000)}3,"x\n`)
    expect(error.details.line).toBe(200_002)
  })
})
