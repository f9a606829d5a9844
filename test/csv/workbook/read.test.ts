import { open, writeFile } from 'node:fs/promises'
import { strToU8, unzipSync, zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { readChunks } from '../../../src/csv/encoding.js'
import { convertFile } from '../../../src/csv/workbook/convert.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { inWords } from '../../support/in-words.js'
import { newFolder } from '../../support/new-folder.js'
import { sheetAsCsv, textRow, workbookOf, workbookOfRows } from '../../support/workbooks.js'

const folder = perFile(newFolder)
let count = 0

/** Returns the CSV of a workbook's sheet. */
async function csvOf(workbook: Uint8Array, sheet?: string): Promise<string> {
  return sheetAsCsv(folder.file(workbook), folder.at(`${count++}.sheet.csv`), sheet)
}

/** Returns the lines of a sheet's rows. */
const linesOf = async (rows: string, more: object = {}): Promise<string[]> =>
  (await csvOf(workbookOf({ sheets: { One: rows }, ...more }))).split('\n').slice(0, -1)

const stylesOf = (...formats: readonly (number | string)[]): string => {
  const codes = formats.map((format, at) =>
    typeof format === 'string' ? `<numFmt numFmtId="${200 + at}" formatCode="${format}"/>` : '',
  )
  const styles = formats.map(
    (format, at) => `<xf numFmtId="${typeof format === 'string' ? 200 + at : format}"/>`,
  )
  return `<numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${styles.join('')}</cellXfs>`
}

describe('the cells of a sheet', () => {
  it('keeps texts as they are, whether they are shared, in their cell, or in runs of several formats', async () => {
    const sharedStrings =
      '<si><t>plain</t></si><si><r><rPr><b/></rPr><t>bold </t></r><r><t xml:space="preserve">and not </t></r><rPh sb="0" eb="1"><t>spoken</t></rPh></si>'
    const rows =
      '<row><c t="s"><v>1</v></c><c t="s"><v>0</v></c><c t="inlineStr"><is><t> =1+1 </t></is></c><c t="inlineStr"><is><r><t>a &amp; </t></r><r><t><![CDATA[<b>]]></t></r></is></c></row>'
    expect(await linesOf(rows, { sharedStrings })).toEqual(['bold and not ,plain, =1+1 ,a & <b>'])
  })

  it('keeps long ids and leading zeros that are texts', async () => {
    const rows = textRow('0012345678901234567890', '+33612345678', '1.0', "'=x")
    expect(await linesOf(rows)).toEqual(["0012345678901234567890,+33612345678,1.0,'=x"])
  })

  it('quotes cells with quotes, commas and line breaks', async () => {
    expect(await linesOf(textRow('a "b"', 'c, d', 'e_x000D_\nf_x0041_'))).toEqual([
      '"a ""b""","c, d","e\r',
      'fA"',
    ])
  })

  it('reads thousands of shared texts, some of them long', async () => {
    const texts = Array.from({ length: 17_000 }, (_, at) =>
      at % 500 === 0 ? `${at} ${'x'.repeat(30_000)}` : `${at}`,
    )
    const sharedStrings = texts.map((text) => `<si><t>${text}</t></si>`).join('')
    const used = [16_999, 16_500, 0, 1]
    const rows = used.map((at) => `<row><c t="s"><v>${at}</v></c></row>`).join('')
    expect(await linesOf(rows, { sharedStrings })).toEqual(used.map((at) => texts[at]))
  })

  it('leaves a column empty where a row has no cell, and covers a merged range with its first cell', async () => {
    const rows =
      '<row r="2"><c r="B2" t="str"><v>Name</v></c><c r="D2" t="str"><v>Site</v></c></row>' +
      '<row r="4"><c r="B4" t="str"><v>merged</v></c><c r="C4" s="1"/><c r="D4"/></row>'
    expect(await linesOf(rows)).toEqual(['', ',Name,,Site', '', ',merged,,'])
  })

  it('makes rows as long as the header below a title, and no longer for a note beside the table', async () => {
    const rows =
      '<row r="1"><c r="A1" t="str"><v>Customers</v></c></row>' +
      '<row r="3"><c r="A3" t="str"><v>Name</v></c><c r="B3" t="str"><v>Site</v></c><c r="C3" t="str"><v>Note</v></c></row>' +
      '<row r="4"><c r="A4" t="str"><v>Acme</v></c></row>' +
      '<row r="5"><c r="A5" t="str"><v>Birch</v></c><c r="D5" t="str"><v>?</v></c></row>' +
      '<row r="6"><c r="B6" t="str"><v>x.example</v></c></row>'
    expect(await linesOf(rows)).toEqual([
      'Customers,,',
      '',
      'Name,Site,Note',
      'Acme,,',
      'Birch,,,?',
      ',x.example,',
    ])
  })

  it('keeps a list of one column as it is, with a note beside one of its rows', async () => {
    const rows = textRow('Domain') + textRow('acme.example', 'old') + textRow('birch.example')
    expect(await linesOf(rows)).toEqual(['Domain', 'acme.example,old', 'birch.example'])
  })

  it('reads a formula as the value that was calculated, booleans as TRUE and FALSE, errors as they are shown', async () => {
    const rows =
      '<row><c t="str"><f>A1&amp;"x"</f><v>ax</v></c><c><f>1+1</f><v>2</v></c><c><f>B1</f></c><c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="e"><v>#N/A</v></c></row>'
    expect(await linesOf(rows)).toEqual(['ax,2,,TRUE,FALSE,#N/A'])
  })

  // Days are counted as Excel does: from 1900, with a day that there was not.
  it.each(
    casesOf<[format: string | number | null, value: string, text: string]>('csv/workbook/read/numbers'),
  )('writes in the format %s the number %s as %s', async (format, value, text) => {
    const styles = format === null ? '' : stylesOf(format)
    expect(await linesOf(`<row><c s="0"><v>${value}</v></c></row>`, { styles })).toEqual([text])
  })

  it('keeps a number as it is that has a million digits, or a million and something else', async () => {
    const values = [`1${'0'.repeat(1e6)}1`, '0'.repeat(1e6), `0.${'0'.repeat(1e6)}1`, `${'1'.repeat(1e6)}x`]
    for (const value of values)
      expect((await linesOf(`<row><c><v>${value}</v></c></row>`))[0] === value).toBe(true)
  })

  it('counts days from 1904 where the workbook does, and reads dates that are written as such', async () => {
    const rows = '<row><c s="0"><v>43538</v></c><c t="d"><v>2023-03-15T00:00:00</v></c></row>'
    const more = { styles: stylesOf(14), workbookPr: '<workbookPr date1904="1"/>' }
    expect(await linesOf(rows, more)).toEqual(['2023-03-15,2023-03-15'])
  })

  it('reads workbooks whose names have a prefix', async () => {
    const parts = {
      'xl/worksheets/sheet1.xml':
        '<x:worksheet xmlns:x="x"><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>a</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>',
    }
    expect(await csvOf(workbookOf({ sheets: { One: '' }, parts }))).toBe('a\n')
  })
})

describe('the sheet that is read', () => {
  const workbook = workbookOf({
    sheets: { Notes: textRow('hidden'), Firmen: textRow('first'), 'Zwei ': textRow('second') },
    hidden: ['Notes'],
  })

  it('is the first one that is visible, or the one with the name', async () => {
    expect(await csvOf(workbook)).toBe('first\n')
    expect(await csvOf(workbook, 'zwei')).toBe('second\n')
    expect(await csvOf(workbook, 'Notes')).toBe('hidden\n')
  })

  it('is refused with a list of the sheets where the name is unknown', async () => {
    await expect(inWords(() => csvOf(workbook, 'Drei'))).rejects.toThrow(
      /has no sheet "Drei"\. It has: "Notes", "Firmen", "Zwei "\.$/,
    )
  })
})

describe('a workbook that is refused', () => {
  const sheetOf = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`
  const refusal = (parts: Record<string, string | Uint8Array>, sheets = { One: textRow('a') }) =>
    inWords(() => csvOf(workbookOf({ sheets, parts }))).then(
      () => 'read',
      (error: Error) => error.message,
    )

  it.each([
    [
      'declares entities',
      '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><worksheet>&a;&b;</worksheet>',
      'it declares a document type',
    ],
    ['refers to an entity', '<worksheet>&a;</worksheet>', 'is a damaged workbook'],
    ['is cut off', '<worksheet><sheetData>', 'is a damaged workbook'],
    [
      'unpacks to many times its size',
      `<worksheet>${' '.repeat(80 * 2 ** 20)}</worksheet>`,
      /unpacks to 81 MiB, and 64 MiB is the limit for a workbook of \d+ KiB\. Delete what is not needed in it, or save the sheet as CSV\.$/,
    ],
    [
      'has a cell beyond the last column',
      sheetOf('<row r="1"><c r="XFE1"/></row>'),
      'beyond the last column',
    ],
    ['has a row out of order', sheetOf('<row r="2"/><row r="1"/>'), 'out of order at row 1'],
    ['has too many rows', sheetOf('<row r="1048577"/>'), 'out of order at row 1048577'],
    ['refers to a text that it lacks', sheetOf('<row><c t="s"><v>7</v></c></row>'), 'refers to text 7'],
  ])('has a sheet that %s', async (_, sheet, sentence) => {
    expect(await refusal({ 'xl/worksheets/sheet1.xml': sheet })).toMatch(sentence)
  })

  it('is another archive, has a password, or a damaged list of parts', async () => {
    await expect(inWords(() => csvOf(zipSync({ 'a.csv': strToU8('a') })))).rejects.toThrow('is a ZIP archive')
    const changed = (at: number, byte: number) => {
      const bytes = Buffer.from(workbookOfRows([['a']]))
      for (let from = 0; from < bytes.length - 4; from++)
        if (bytes.toString('latin1', from, from + 4) === 'PK\x01\x02') bytes[from + at] = byte
      return bytes
    }
    await expect(inWords(() => csvOf(changed(8, 1)))).rejects.toThrow('is protected with a password')
    await expect(inWords(() => csvOf(changed(0, 0)))).rejects.toThrow('is a damaged workbook')
  })

  it('is cut off, or has no part for its sheet', async () => {
    const { 'xl/worksheets/sheet1.xml': _, ...others } = unzipSync(workbookOfRows([['a']]))
    await expect(inWords(() => csvOf(zipSync(others)))).rejects.toThrow(
      /is a damaged workbook \(its sheet is missing\)/,
    )
    const half = workbookOfRows([['a']]).subarray(0, 500)
    await expect(inWords(() => csvOf(half))).rejects.toThrow(/is a damaged workbook/)
  })

  it.each([
    ['a long text in every row', `<c t="s"><v>0</v></c>`, '', `<si><t>${'x'.repeat(1e6)}</t></si>`],
    ['a cell in the last column', '<c><v>1</v></c>', '<row r="1"><c r="XFD1"><v>1</v></c></row>', ''],
    ['a format of many digits', '<c s="1"><v>1</v></c>'.repeat(60), '', ''],
  ])('becomes many times its size as CSV by %s', async (_, cells, first, sharedStrings) => {
    const sheets = { One: first + `<row>${cells}</row>`.repeat(5_000) }
    const styles = stylesOf('General', '0'.repeat(255))
    await expect(inWords(() => csvOf(workbookOf({ sheets, sharedStrings, styles })))).rejects.toThrow(
      /becomes more than 64 MiB of CSV by row [\d,]+, and 64 MiB is the limit for a workbook of \d+ KiB\. Delete what is not needed in it, or save the sheet as CSV\.$/,
    )
  })

  it('repeats a long text so often that a row is longer than one of a CSV file can be', async () => {
    const cells = '<c t="s"><v>0</v></c>'.repeat(300)
    const parts = { 'xl/sharedStrings.xml': `<sst><si><t>${'x'.repeat(4_000)}</t></si></sst>` }
    expect(await refusal(parts, { One: `<row>${cells}</row>` })).toContain('Line 1: The row is longer than')
  })

  it.each([
    ['xl/workbook.bin', 'is a binary Excel workbook (.xlsb). Save it as .xlsx or CSV.'],
    ['Index/Document.iwa', 'is a Numbers or Pages document. Export it as .xlsx or CSV.'],
    ['content.xml', 'is an OpenDocument file (such as .ods). Save it as .xlsx or CSV.'],
    ['word/document.xml', 'is a Word document. Save its table as .xlsx or CSV.'],
  ])('has the part %s', async (part, sentence) => {
    expect(await refusal({ [part]: '' })).toContain(sentence)
  })
})

describe('the process that converts a workbook', () => {
  /** Returns the CSV that the process writes; `undefined` where it leaves a file alone. */
  async function converted(path: string, sheet?: string): Promise<string | undefined> {
    const copy = await open(folder.at(`${count++}.copy.csv`), 'wx+')
    try {
      if (!(await convertFile(path, sheet, async () => copy))) return undefined
      return Buffer.concat(await Array.fromAsync(readChunks(copy))).toString()
    } finally {
      await copy.close()
    }
  }

  it('writes the CSV file, says what is wrong with a workbook, and leaves other files alone', async () => {
    const workbook = folder.file(workbookOfRows([['Website'], ['acme.example']]))
    expect(await converted(workbook)).toBe('Website\nacme.example\n')
    await expect(inWords(() => converted(workbook, 'x'))).rejects.toThrow('It has: "Sheet1".')
    expect(await converted(folder.file('Website\nacme.example\n'))).toBeUndefined()
  })

  const oleOf = (stream: string): Buffer => {
    const file = Buffer.alloc(2_048)
    Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(file)
    file.writeUInt16LE(9, 30)
    file.writeUInt32LE(1, 48)
    file.write(stream, 1_024 + 128, 'utf16le')
    return file
  }
  it.each([
    ['an old Excel workbook (.xls). Save it as .xlsx or CSV.', oleOf('Workbook')],
    ['a workbook with a password. Save it without one, or as CSV.', oleOf('EncryptedPackage')],
    ['a PDF document. Export its table as CSV.', Buffer.from('%PDF-1.7')],
    ['an Arrow file. Export its table as CSV.', Buffer.from('ARROW1\0\0')],
    ['a Parquet file. Export its table as CSV.', Buffer.from('PAR1\x15\x04')],
    ['an image. Give an .xlsx or CSV file.', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['an image. Give an .xlsx or CSV file.', Buffer.from('RIFF\0\0\0\0WEBP')],
    ['an SQLite database. Export its table as CSV.', Buffer.from('SQLite format 3\0')],
  ])('is not asked to read %s', async (sentence, bytes) => {
    const path = folder.at(`${count++}.bin`)
    await writeFile(path, bytes)
    await expect(inWords(() => converted(path))).rejects.toThrow(`${path} is ${sentence}`)
  })

  it('takes a header that begins like another file for text', async () => {
    const path = folder.file('BZh,PAR1,PK\n1,2,3\n')
    expect(await converted(path)).toBeUndefined()
  })
})
