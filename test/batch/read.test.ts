import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkTable } from '../../src/batch/check.js'
import { decode } from '../../src/batch/encoding.js'
import { CsvError } from '../../src/batch/errors.js'
import { parseRows, type Row } from '../../src/batch/parse.js'
import { openTable, type ReadOptions, spool } from '../../src/batch/read.js'
import { testFolder } from './folder.js'

const folder = testFolder()
const utf16le = (text: string) => Buffer.from(text, 'utf16le')
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

async function readAll(content: string | Uint8Array, options?: ReadOptions) {
  const table = await openTable(await folder.file(content), options)
  const rows: Row[] = []
  for await (const batch of table.rows()) rows.push(...batch)
  return { table, rows, cells: rows.map((row) => row.cells), lines: rows.map((row) => row.line) }
}

async function refusal(content: string | Uint8Array, options?: ReadOptions): Promise<CsvError> {
  try {
    await checkTable(await openTable(await folder.file(content), options))
  } catch (error) {
    if (error instanceof CsvError) return error
    throw error
  }
  throw new Error('the file was accepted')
}

describe('encodings', () => {
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
  ])('%s is recognised', async (_, content, encoding, cells) => {
    const read = await readAll(content)
    expect(read.table.encoding).toBe(encoding)
    expect(read.table.header[0]).toBe('name')
    expect(read.cells).toEqual(cells)
  })

  test('another encoding is read when it is named', async () => {
    const read = await readAll(Buffer.from('name,city\nZürich AG,Genève\n', 'latin1'), {
      encoding: 'windows-1252',
    })
    expect(read.cells).toEqual([['Zürich AG', 'Genève']])
  })

  test('an unknown encoding is refused with a suggestion', async () => {
    expect((await refusal('a\n1\n', { encoding: 'utf-9' })).message).toMatch(/"utf-9".*windows-1252/)
  })

  test('a character cut by the end of a piece of text is put together', async () => {
    const body = Array.from({ length: 30_000 }, (_, at) => `é日𝒜${at},y`).join('\n')
    const read = await readAll(`name,x\n${body}\n`)
    expect(read.rows).toHaveLength(30_000)
    expect(read.cells[15_000]).toEqual(['é日𝒜15000', 'y'])
  })
})

describe('dialects', () => {
  test.each([
    [',', 'name,site\nA,b\n'],
    [';', 'name;site\n"A;B";b\nC,D;e\n'],
    ['\t', 'name\tsite, main\nA\tb\n'],
    ['|', 'name|site\nA|b;c\n'],
    [';', 'name;revenue\nA;1,5\nB;2,75\n'],
    [';', 'name;"note, or\nmore, or , less"\nA;b\n'],
    [',', 'name\nAcme\n'],
    [';', 'name\nAcme, Inc.\nFoo\n'],
  ])('the delimiter %j is found', async (delimiter, content) => {
    const { table, rows } = await readAll(content)
    expect(table.delimiter).toBe(delimiter)
    for (const row of rows) expect(row.cells).toHaveLength(table.header.length)
  })

  test('a sep= line names the delimiter and is no row', async () => {
    const read = await readAll('sep=^\r\nname^site\r\nA,B^c\r\n')
    expect(read.table.header).toEqual(['name', 'site'])
    expect(read.cells).toEqual([['A,B', 'c']])
    expect([read.table.headerLine, ...read.lines]).toEqual([2, 3])
  })

  test('a delimiter that is given wins', async () => {
    expect((await readAll('a,b;c\n1,2;3\n', { delimiter: ';' })).cells).toEqual([['1,2', '3']])
  })
})

describe('rows', () => {
  test('blank lines are no rows, a row of empty cells is one', async () => {
    const read = await readAll('a,b\n\n1,2\n\n\n,\n3,4')
    expect(read.cells).toEqual([
      ['1', '2'],
      ['', ''],
      ['3', '4'],
    ])
    expect(read.lines).toEqual([3, 6, 7])
  })

  test('a quoted empty cell in the only column is a row', async () => {
    expect((await readAll('a\n""\n\nx\n')).cells).toEqual([[''], ['x']])
  })

  test('quoted line ends of every kind count as lines', async () => {
    const read = await readAll('a,b\r\n"x\r\ny\r\nz",1\r\n2,"p\nq"\r\n3,4\r\n')
    expect(read.cells[0]).toEqual(['x\r\ny\r\nz', '1'])
    expect(read.lines).toEqual([2, 5, 7])
  })

  test('line ends may be mixed', async () => {
    expect((await readAll('a,b\r\n1,2\n3,4\r5,6')).cells).toEqual([
      ['1', '2'],
      ['3', '4'],
      ['5', '6'],
    ])
  })

  test('a row with too many or too few cells is handed on with its line', async () => {
    const read = await readAll('a,b\n1\n1,2,3\n4,5\n')
    expect(read.cells).toEqual([['1'], ['1', '2', '3'], ['4', '5']])
    const table = await openTable(await folder.file('a,b\n4,5\n\n1\n1,2,3\n'))
    expect(await checkTable(table)).toMatchObject({ rows: 3, ragged: 2, firstRagged: 4 })
  })

  test('cells that were made safe are read as they were, others as they are', async () => {
    const content = "a,'=b\n'=1+1,''=x\n'+33612345678,'quoted'\n"
    expect((await readAll(content)).table.header).toEqual(['a', '=b'])
    expect((await readAll(content)).cells).toEqual([
      ['=1+1', "'=x"],
      ["'+33612345678", "'quoted'"],
    ])
    expect((await readAll(content, { raw: true })).cells[0]).toEqual(["'=1+1", "''=x"])
  })

  test('a table can be read twice, and left early', async () => {
    const table = await openTable(await folder.file(`a\n${'x\n'.repeat(100_000)}`))
    for await (const _ of table.rows()) break
    expect((await checkTable(table)).rows).toBe(100_000)
  })

  test('a stream is spooled to a private file', async () => {
    const file = folder.path('spooled.csv')
    await spool(Readable.from([Buffer.from('a,b\n'), Buffer.from('1,2\n')]), file)
    expect(await readFile(file, 'utf8')).toBe('a,b\n1,2\n')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })
})

describe('what is no table is refused with its line', () => {
  test.each<[string, string | Uint8Array, number | undefined, RegExp]>([
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
    ['invalid UTF-8', Buffer.from([...Buffer.from('a,b\n1,2\n3,'), 0xff, 0x0a, 0x41]), 3, /--encoding/],
    ['a character that ends with the file', Buffer.from([...Buffer.from('a,b\n1,'), 0xe2, 0x82]), 2, /UTF-8/],
    [
      'invalid UTF-16',
      Buffer.concat([utf16le('\ufeffa,b\n1,2\n'), Buffer.from([0x00, 0xd8, 0x41, 0x00])]),
      3,
      /utf-16le/,
    ],
    ['two columns of one name', 'x\ty\tx\n1\t2\t3\n', 1, /columns 1 and 3 are both named "x"/],
    ['two columns of one name below a sep= line', 'sep=,\nx,x\n', 2, /both named/],
    ['a header of empty cells', '\n,,\n1,2,3\n', 2, /empty/],
    ['an empty file', '', undefined, /is empty/],
    ['a file of blank lines', '\n\n\r\n', undefined, /is empty/],
  ])('%s', async (_, content, line, sentence) => {
    const error = await refusal(content)
    expect(error.line).toBe(line)
    expect(error.message).toMatch(sentence)
    if (line !== undefined) expect(error.message).toContain(`Line ${line}: `)
  })

  test('a row above the size limit', async () => {
    const content = `a,b\n1,2\n3,"${'x'.repeat(5_000)}"\n`
    expect((await readAll(content)).rows).toHaveLength(2)
    expect((await refusal(content, { limit: 4_000 })).line).toBe(3)
  })

  test('a problem far behind the first piece of text', async () => {
    const error = await refusal(`a,b\n${'1,2\n'.repeat(200_000)}3,"x\n`)
    expect(error.line).toBe(200_002)
  })

  test('a file that is not there, and a folder', async () => {
    await expect(openTable(folder.path('none.csv'))).rejects.toThrow(/none.csv cannot be read: no such file/)
    await expect(openTable(folder.path('.'))).rejects.toThrow(/no regular file/)
  })
})

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

test('5,000 generated tables are read as they were written, whatever the pieces they come in', async () => {
  await fc.assert(
    fc.asyncProperty(generated, async (one) => {
      const encode: (text: string) => Buffer = encoders[one.label as keyof typeof encoders]
      const texts = decode(inPieces(encode(write(one)), one.pieces), { label: one.label, mark: 0 })
      const rows: Row[] = []
      for await (const batch of parseRows(texts, { delimiter: one.delimiter, firstLine: 1 }))
        rows.push(...batch)
      expect(rows.map((row) => row.cells)).toEqual(one.table)
    }),
    { numRuns: 5_000 },
  )
})
