import { readFile, stat } from 'node:fs/promises'
import { unzipSync } from 'fflate'
import readExcelFile from 'read-excel-file/node'
import { describe, expect, it } from 'vitest'
import { writeWorkbook } from '../../../src/csv/workbook/write.js'
import { perFile } from '../../support/each.js'
import { inWords } from '../../support/in-words.js'
import { newFolder } from '../../support/new-folder.js'
import { sheetAsCsv } from '../../support/workbooks.js'

const folder = perFile(newFolder)
let count = 0

/** Writes a CSV file as a workbook. Returns its path. */
async function workbookOfCsv(csv: string): Promise<string> {
  const xlsx = folder.at(`${count++}.xlsx`)
  await writeWorkbook({ csv: folder.file(csv), xlsx })
  return xlsx
}

/** Returns the rows of a workbook as another reader sees them. */
async function cellsOf(csv: string): Promise<unknown> {
  const [sheet] = await readExcelFile(await workbookOfCsv(csv), { trim: false })
  return sheet?.data
}

describe('a workbook that is written', () => {
  it('opens in another reader, with texts as they are and numbers as numbers', async () => {
    const csv = 'Name,Employees,Rate\n"Müller & Söhne <GmbH> ""x""",120,0.25\n"  two\nlines ",7,-3\n'
    expect(await cellsOf(csv)).toEqual([
      ['Name', 'Employees', 'Rate'],
      ['Müller & Söhne <GmbH> "x"', 120, 0.25],
      ['  two\nlines ', 7, -3],
    ])
  })

  it('holds all of many rows', async () => {
    const rows = Array.from({ length: 3_000 }, (_, at) => [at, `text ${at} ${'x'.repeat(40)}`])
    const csv = ['Number,Text', ...rows.map((row) => row.join(','))].join('\n')
    expect(await cellsOf(csv)).toEqual([['Number', 'Text'], ...rows])
  })

  it('keeps a column as text where one of its cells would not stay as it is', async () => {
    const csv = 'Zip,Id,Phone,Price\n01234,123456789012,+33612345678,1.50\n75001,1,1,2\n'
    expect(await cellsOf(csv)).toEqual([
      ['Zip', 'Id', 'Phone', 'Price'],
      ['01234', '123456789012', '+33612345678', '1.50'],
      ['75001', '1', '1', '2'],
    ])
  })

  it('has no formula, and no apostrophe before what looks like one', async () => {
    const csv = '\'=cmd,b\n\'=HYPERLINK(""x""),\'@sum\n'
    const path = await workbookOfCsv(csv.replaceAll('""', ''))
    const parts = unzipSync(await readFile(path))
    const sheet = Buffer.from(parts['xl/worksheets/sheet1.xml'] ?? []).toString()
    expect(sheet).toContain('<t xml:space="preserve">=HYPERLINK(x)</t>')
    expect(sheet).toContain('<t xml:space="preserve">@sum</t>')
    expect(sheet).not.toMatch(/<f[ >]/)
  })

  it('gives every text back to our reader, with control characters and texts like their escapes', async () => {
    const cells = ['a\u0001b', 'c\r\nd', '_x0041_', '\ufffe', '\u{1f600}', 'e\tf']
    const path = await workbookOfCsv(`h1,h2,h3,h4,h5,h6\n${cells.map((cell) => `"${cell}"`).join(',')}\n`)
    expect(await sheetAsCsv(path, `${path}.csv`)).toBe(
      `h1,h2,h3,h4,h5,h6\n${cells.map((cell) => (cell.includes('\r') ? `"${cell}"` : cell)).join(',')}\n`,
    )
  })

  it('keeps empty cells, and names columns beyond Z', async () => {
    const header = Array.from({ length: 703 }, (_, at) => `c${at}`)
    const row = header.map((_, at) => (at === 0 || at === 702 ? 'x' : ''))
    const path = await workbookOfCsv(`${header.join(',')}\n${row.join(',')}\n`)
    expect(await sheetAsCsv(path, `${path}.csv`)).toBe(`${header.join(',')}\n${row.join(',')}\n`)
    const sheet = Buffer.from(unzipSync(await readFile(path))['xl/worksheets/sheet1.xml'] ?? []).toString()
    expect(sheet).toContain('r="AAA2"')
  })

  it('is readable by its owner only', async () => {
    expect((await stat(await workbookOfCsv('a\n'))).mode & 0o777).toBe(0o600)
  })

  it('is refused where a cell or the sheet would be too large', async () => {
    await expect(inWords(() => workbookOfCsv(`Name,Jobs\nx,${'y'.repeat(32_768)}\n`))).rejects.toThrow(
      'Row 2 has 32,768 characters in column "Jobs", and a cell of a workbook holds 32,767. Write CSV instead.',
    )
    await expect(inWords(() => workbookOfCsv('a\n'.repeat(1_048_577)))).rejects.toThrow(
      'A sheet has at most 1,048,576 rows, and there are more. Write CSV instead.',
    )
  })
})
