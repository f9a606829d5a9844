import { describe, expect, test } from 'vitest'
import { Refusal } from '../../src/api/calls/errors.js'
import { describe as sentenceOf } from '../../src/cli/messages.js'
import { detectEncoding } from '../../src/csv/detect-encoding.js'
import { detectDelimiter, sampleOf } from '../../src/csv/encoding.js'
import { type CsvRow, type RowOptions, readRows } from '../../src/csv/parse.js'
import { casesOf } from '../support/fixtures.js'
import { inWords } from '../support/in-words.js'

const utf16le = (text: string) => Buffer.from(text, 'utf16le')
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

interface Options extends RowOptions {
  readonly encoding?: string
  /** Bytes that are read at once. */
  readonly piece?: number
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Reads a table up to its end, or to the error in it. */
async function readOn(content: string | Uint8Array, options: Options = {}) {
  const bytes = Buffer.from(content as Uint8Array)
  const encoding = detectEncoding(bytes.subarray(0, 65_536), options.encoding)
  const detected = detectDelimiter(sampleOf(bytes.subarray(0, 65_536), encoding))
  const rows: CsvRow[] = []
  let error: unknown
  try {
    const batches = readRows(inPieces(bytes, options.piece ?? 65_536), encoding, detected, options)
    for await (const batch of batches) rows.push(...batch)
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

async function readAll(content: string | Uint8Array, options?: Options) {
  const read = await readOn(content, options)
  if (read.error) throw read.error
  return read
}

async function refusal(content: string | Uint8Array, options?: Options): Promise<Refusal> {
  const { error } = await readOn(content, options)
  if (error instanceof Refusal) return error
  throw error ?? new Error('the file was accepted')
}

describe('the encoding of a file', () => {
  const text = 'name;pays\nSociété Générale;日本\n"𝒜 𝒷";x\n'
  const expected = [
    ['Société Générale', '日本'],
    ['𝒜 𝒷', 'x'],
  ]
  const ascii = 'name;country\nAcme;DE\n'

  test.each([
    ['UTF-8', Buffer.from(text), 'utf-8', expected],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`), 'utf-8', expected],
    ['UTF-16 little endian with a mark', utf16le(`\ufeff${text}`), 'utf-16le', expected],
    ['UTF-16 big endian with a mark', utf16be(`\ufeff${text}`), 'utf-16be', expected],
    ['UTF-16 little endian without a mark', utf16le(ascii), 'utf-16le', [['Acme', 'DE']]],
    ['UTF-16 big endian without a mark', utf16be(ascii), 'utf-16be', [['Acme', 'DE']]],
  ])('is detected: %s', async (_, content, encoding, cells) => {
    const read = await readAll(content, { piece: 1 })
    expect(read.encoding).toBe(encoding)
    expect(read.cells[0]?.[0]).toBe('name')
    expect(read.cells.slice(1)).toEqual(cells)
  })

  test('may be given', async () => {
    const read = await readAll(Buffer.from('name,city\nZürich AG,Genève\n', 'latin1'), {
      encoding: 'windows-1252',
    })
    expect(read.cells[1]).toEqual(['Zürich AG', 'Genève'])
  })

  test('is refused with a suggestion when it is unknown', async () => {
    await expect(inWords(() => readOn('a\n1\n', { encoding: 'utf-9' }))).rejects.toThrow(
      /"utf-9".*windows-1252/,
    )
  })

  test('may split a character between two chunks', async () => {
    const body = Array.from({ length: 30_000 }, (_, at) => `é日𝒜${at},y`).join('\n')
    const read = await readAll(`name,x\n${body}\n`)
    expect(read.cells).toHaveLength(30_001)
    expect(read.cells[15_001]).toEqual(['é日𝒜15000', 'y'])
  })
})

describe('the delimiter of a file', () => {
  test.each(casesOf<[string, string]>('csv/read/has-its-delimiter-detected'))(
    'has its delimiter detected: %j',
    async (delimiter, content) => {
      const read = await readAll(content)
      expect(read.delimiter).toBe(delimiter)
      for (const cells of read.cells) expect(cells).toHaveLength(read.cells[0]?.length ?? 0)
    },
  )

  test('may be named by a sep= line, which is not a row', async () => {
    const read = await readAll('sep=^\r\nname^site\r\nA,B^c\r\n')
    expect(read.cells).toEqual([
      ['name', 'site'],
      ['A,B', 'c'],
    ])
    expect(read.lines).toEqual([2, 3])
  })
})

describe('the rows of a file', () => {
  test('include rows of empty cells, and no blank lines', async () => {
    const read = await readAll('a,b\n\n1,2\n\n\n,\n3,4')
    expect(read.cells).toEqual([
      ['a', 'b'],
      ['1', '2'],
      ['', ''],
      ['3', '4'],
    ])
    expect(read.lines).toEqual([1, 3, 6, 7])
  })

  test('include a quoted empty cell in the only column', async () => {
    expect((await readAll('a\n""\n\nx\n')).cells).toEqual([['a'], [''], ['x']])
  })

  test('have line numbers that count every kind of line end within quotes', async () => {
    const read = await readAll('a,b\r\n"x\r\ny\r\nz",1\r\n2,"p\nq"\r\n3,4\r\n')
    expect(read.cells[1]).toEqual(['x\r\ny\r\nz', '1'])
    expect(read.lines).toEqual([1, 2, 5, 7])
  })

  test('of a sheet have the numbers of its rows, whatever lines are in a cell', async () => {
    expect((await readAll('a,b\n"x\ny","p\r\nq"\n\n2,3\n', { isSheet: true })).lines).toEqual([1, 2, 4])
  })

  test('may have mixed line ends', async () => {
    expect((await readAll('a,b\r\n1,2\n3,4\r5,6')).cells).toEqual([
      ['a', 'b'],
      ['1', '2'],
      ['3', '4'],
      ['5', '6'],
    ])
  })

  test('keep their line number when they have too many or too few cells', async () => {
    const read = await readAll('a,b\n1\n1,2,3\n4,5\n')
    expect(read.cells).toEqual([['a', 'b'], ['1'], ['1', '2', '3'], ['4', '5']])
    expect(read.lines).toEqual([1, 2, 3, 4])
  })

  test('have escaped cells unescaped, and others unchanged', async () => {
    const content = "a,'=b\n'=1+1,''=x\n'+33612345678,'quoted'\n"
    expect((await readAll(content)).cells).toEqual([
      ['a', '=b'],
      ['=1+1', "'=x"],
      ["'+33612345678", "'quoted'"],
    ])
    expect((await readAll(content, { raw: true })).cells[1]).toEqual(["'=1+1", "''=x"])
  })

  test('before an error are returned before it', async () => {
    const { cells, error } = await readOn('a,b\n1,2\n3,"x\n4,5\n')
    expect(cells).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ])
    expect(error).toBeInstanceOf(Refusal)
  })

  test('may contain a quote in the middle of an unquoted cell', async () => {
    const read = await readAll('a,b\n5" pipe,"x\ny"\n3,4\n', { looseQuotes: true })
    expect(read.cells[1]).toEqual(['5" pipe', 'x\ny'])
    expect(read.lines).toEqual([1, 2, 4])
  })
})

describe('a file that is not a table is refused with its line', () => {
  test.each<[string, string | Uint8Array, number, RegExp]>([
    ['an unclosed quote', 'a,b\n1,2\n3,"x\n4,5\n6,7\n', 3, /never closed/],
    [
      'an unclosed quote after quoted line ends',
      'a,b\r\n"1\r\n2",x\r\n\r\n"3,y\r\n4,z\r\n',
      5,
      /never closed/,
    ],
    ['an unclosed quote that a later one seems to close', 'a,b\n1,"x\n2,"y"\n', 2, /closing quote/],
    ['text after a closing quote', 'a,b\n1,2\n"x"y,3\n', 3, /closing quote/],
    ['a quote within an unquoted cell', 'a,b\n5" pipe,2\n', 2, /middle of an unquoted cell/],
    ['a NUL', 'a,b\n1,2\n\n3,\0\n', 4, /NUL/],
    ['a NUL in UTF-16', utf16le('\ufeffa,b\n1,2\n3,\0\n'), 3, /NUL/],
    ['invalid UTF-8', Buffer.from([...Buffer.from('é,ü\nß,2\n3,'), 0xff, 0x0a, 0x41]), 3, /--encoding/],
    [
      'invalid UTF-8 below a blank line',
      Buffer.from([...Buffer.from('\né€ü\n'), 0xff, 0x0a]),
      3,
      /--encoding/,
    ],
    [
      'a byte of a character that ends with the file',
      Buffer.from([...Buffer.from('a,b\n1,'), 0xc3]),
      2,
      /UTF-8/,
    ],
    ['a character that ends with the file', Buffer.from([...Buffer.from('a,b\n1,'), 0xe2, 0x82]), 2, /UTF-8/],
    [
      'invalid UTF-16',
      Buffer.concat([utf16le('\ufeffa,b\n1,2\n'), Buffer.from([0x00, 0xd8, 0x41, 0x00])]),
      3,
      /utf-16le/,
    ],
  ])('because of %s', async (_, content, line, sentence) => {
    const error = await refusal(content)
    expect(error.details.line).toBe(line)
    expect(sentenceOf(error)).toMatch(sentence)
    expect(sentenceOf(error)).toContain(`Line ${line}: `)
  })

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
