import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { Refusal } from '../../../src/api/calls/errors.js'
import { describe as sentenceOf } from '../../../src/cli/messages.js'
import type { CsvRow } from '../../../src/csv/parse.js'
import { checkTable, openTable, type ReadOptions, spool } from '../../../src/runs/input/table.js'
import { encode } from '../../csv/encode.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { inWords } from '../../support/in-words.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perFile(newFolder)

async function readAll(content: string | Uint8Array, options?: ReadOptions) {
  const table = await openTable(folder.file(content), options)
  const rows: CsvRow[] = []
  for await (const batch of table.rows()) rows.push(...batch)
  return { table, rows, cells: rows.map((row) => row.cells) }
}

describe('a table', () => {
  test('has a header that is separate from its rows', async () => {
    const { table, rows } = await readAll('\ufeffsep=;\n\nname;site\n\nA;b\n')
    expect(table).toMatchObject({
      header: ['name', 'site'],
      encoding: 'utf-8',
      delimiter: ';',
    })
    expect(rows).toEqual([{ line: 5, cells: ['A', 'b'] }])
  })

  test.each<[string, string | Uint8Array, ReadOptions, string[][]]>([
    ['in the given encoding', Buffer.from('é\nè\n', 'latin1'), { encoding: 'windows-1252' }, [['é'], ['è']]],
    [
      'split at the given delimiter',
      'a,b;c\n1,2;3\n',
      { delimiter: ';' },
      [
        ['a,b', 'c'],
        ['1,2', '3'],
      ],
    ],
    ['with its apostrophes when it is raw', "'=a\n'=1\n", { raw: true }, [["'=a"], ["'=1"]]],
  ])('is read %s', async (_, content, options, expected) => {
    const { table, cells } = await readAll(content, options)
    expect([table.header, ...cells]).toEqual(expected)
  })

  test('has blank cells where they are missing at the end, and no surplus ones', async () => {
    const { cells } = await readAll('a,b\n4\n1,2,,\n3,5, \n')
    expect(cells).toEqual([
      ['4', ''],
      ['1', '2'],
      ['3', '5'],
    ])
  })

  test('has the rows counted that have more cells than its header', async () => {
    const table = await openTable(folder.file('a,b\n4,5\n\n1\n1,2,3\n'))
    expect(await checkTable(table)).toMatchObject({ rows: 3, ragged: 1, firstRagged: 5 })
  })

  test('has a name of its own for each column', async () => {
    const { table } = await readAll('City,,City,City_2,,City\na,b,c,d,e,f\n')
    expect(table.header).toEqual(['City', '', 'City_3', 'City_2', '', 'City_4'])
    expect(table.notes.map(sentenceOf)).toEqual([
      'Columns with the name of an earlier one are called "City_3", "City_4".',
    ])
  })

  test('can be read twice, and abandoned early', async () => {
    const table = await openTable(folder.file(`a\n${'x\n'.repeat(100_000)}`))
    for await (const _ of table.rows()) break
    expect((await checkTable(table)).rows).toBe(100_000)
  })

  test('is spooled to a private file when it comes from a stream', async () => {
    const file = folder.at('spooled.csv')
    await spool(Readable.from([Buffer.from('a,b\n'), Buffer.from('1,2\n')]), file)
    expect(await readFile(file, 'utf8')).toBe('a,b\n1,2\n')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })
})

describe('a file without a header', () => {
  test.each([
    ['domains', 'a.example\nb.example\n'],
    ['one domain', 'https://a.example'],
    ['email addresses', 'ada@a.example\nbob@b.example\n'],
    ['profiles', 'https://www.network.example/in/ada\nhttps://www.network.example/in/bob\n'],
    ['phone numbers', '+49 89 123456\n+33 6 12 34 56 78\n'],
    ['names and domains', '"Acme, Inc.",a.example,DE\nBolt GmbH,b.example,FR\n'],
    ['domains and names, between semicolons', 'www.a.example;Acme\nb.example/about;Bolt\n'],
    ['domains and blanks, between tabs', 'a.example\t\nb.example\tBolt\n'],
  ])('is recognised by the values in its first row: %s', async (_, text) => {
    const { table, rows } = await readAll(text)
    expect(table.hasHeader).toBe(false)
    expect(table.header).toEqual(rows[0]?.cells.map((_cell, at) => `column_${at + 1}`))
    const lines = text.trim().split('\n')
    expect(rows.map(({ line }) => line)).toEqual(lines.map((_line, at) => at + 1))
    expect(table.samples[0]).toHaveLength(rows.length)
    expect(table.notes.map(({ code }) => code)).toContain('csv.first_row_is_data')
  })

  test.each([
    'domain\na.example\n',
    'company.domain\na.example\n',
    'lead.headline,company.industry\nCTO,Robots\n',
    'Company,acme.example\nAcme,b.example\n',
    'Acme Inc.\nBolt GmbH\n',
    'Kunde;Ort\nAcme;Berlin\n',
  ])('is not seen in %j', async (text) => {
    expect((await readAll(text)).table).toMatchObject({ hasHeader: true, notes: [] })
  })

  test('may be named as one; a file that was written from it has a header', async () => {
    const { table, cells } = await readAll('Acme\nBolt\n', { header: false })
    expect([table.header, ...cells]).toEqual([['column_1'], ['Acme'], ['Bolt']])
    expect(table.notes).toEqual([])
    const rejects = await readAll('_line,_reason,column_1\n2,no,Bolt\n', { header: false })
    expect(rejects.cells).toEqual([['2', 'no', 'Bolt']])
  })
})

test('a table says which encoding was detected, with a cell that shows it', async () => {
  const { table } = await readAll(encode('name;city\nDvořák;Plzeň\n', 'windows-1250'))
  expect(table.notes.map(sentenceOf)).toEqual([
    'Encoding: windows-1250, such as "Dvořák". If that looks wrong, name the right one with --encoding.',
  ])
})

describe('a file that is not a table is refused with its line', () => {
  test.each(
    casesOf<[what: string, content: string, line: number | null, sentence: string]>(
      'runs/input/table/refused',
    ),
  )('because of %s', async (_, content, line, sentence) => {
    const error = await openTable(folder.file(content))
      .then((table) => checkTable(table))
      .catch((thrown: unknown) => thrown)
    if (!(error instanceof Refusal)) throw new Error(`no refusal, but ${JSON.stringify(error)}`)
    expect([error.details.line ?? null, sentenceOf(error)]).toEqual([line, expect.stringContaining(sentence)])
  })

  test('when it does not exist or is a folder', async () => {
    await expect(inWords(() => openTable(folder.at('none.csv')))).rejects.toThrow(
      /none.csv cannot be read: no such file/,
    )
    await expect(inWords(() => openTable(folder.at('.')))).rejects.toThrow(/is a folder/)
  })
})
