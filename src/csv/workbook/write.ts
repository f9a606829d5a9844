import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { crc32, createDeflateRaw } from 'node:zlib'
import { Refusal } from '../../api/calls/errors.js'
import { readRows } from '../parse.js'
import { encodeText } from './values.js'

/** Which CSV file, with commas and in UTF-8, becomes which workbook. */
export interface WriteTask {
  readonly csv: string
  /** A file that is not there yet. */
  readonly xlsx: string
}

export const maxSheetRows = 1_048_576
const maxCellLength = 32_767

/** Writes the rows of a CSV file as a workbook of one sheet. Throws a Refusal for what does not fit into a sheet. */
export async function writeWorkbook({ csv, xlsx }: WriteTask): Promise<void> {
  const isNumber = await findNumbers(csv)
  const zip = new ZipWriter(xlsx)
  try {
    for (const [name, xml] of Object.entries(fixedParts)) await zip.add(name, [declaration + xml])
    await zip.add('xl/worksheets/sheet1.xml', sheetXml(csv, isNumber))
    zip.finish()
  } finally {
    zip.close()
  }
}

/** A number that a sheet shows as it is: without leading zeros or exponent, and short. The rest is text. */
const plainNumber = /^(?:0|-?[1-9]\d{0,9}|-?(?:0|[1-9]\d{0,5})\.\d{0,3}[1-9])$/

async function* readCsv(path: string) {
  const rows = readRows(createReadStream(path), { label: 'utf-8', mark: 0 }, { delimiter: ',', preamble: '' })
  for await (const batch of rows) yield* batch
}

/** Returns for each column whether all of its cells are numbers. One that also has other texts is text. */
async function findNumbers(path: string): Promise<readonly boolean[]> {
  const columns: (boolean | undefined)[] = []
  let rows = 0
  for await (const { cells } of readCsv(path)) {
    if (++rows === 1) continue
    if (rows > maxSheetRows) throw new Refusal('workbook.too_many_rows', { max: maxSheetRows })
    cells.forEach((cell, at) => {
      if (cell !== '' && columns[at] !== false) columns[at] = plainNumber.test(cell)
    })
  }
  return Array.from(columns, (isNumber) => isNumber === true)
}

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packages = 'http://schemas.openxmlformats.org/package/2006'
const types = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const fixedParts: Readonly<Record<string, string>> = {
  '[Content_Types].xml':
    `<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${types}.sheet.main+xml"/>` +
    `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${types}.worksheet+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${packages}/relationships"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${packages}/relationships"><Relationship Id="rId1" Type="${relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
}

const flushLength = 1 << 16

async function* sheetXml(path: string, isNumber: readonly boolean[]): AsyncGenerator<string> {
  let text =
    `${declaration}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0">` +
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
  let row = 0
  let header: readonly string[] = []
  const names: string[] = []
  for await (const { cells } of readCsv(path)) {
    if (++row === 1) header = cells
    text += `<row r="${row}">`
    cells.forEach((cell, at) => {
      if (cell === '') return
      names[at] ??= columnName(at)
      const reference = `${names[at]}${row}`
      if (row > 1 && isNumber[at]) text += `<c r="${reference}"><v>${cell}</v></c>`
      else if (cell.length > maxCellLength)
        throw new Refusal('workbook.cell_too_full', {
          row,
          length: cell.length,
          column: header[at] ?? '',
          max: maxCellLength,
        })
      else
        text += `<c r="${reference}" t="inlineStr"><is><t xml:space="preserve">${encodeText(cell)}</t></is></c>`
    })
    text += '</row>'
    if (text.length < flushLength) continue
    yield text
    text = ''
  }
  yield `${text}</sheetData></worksheet>`
}

/** Returns the letters of a column, counted from 0. */
function columnName(at: number): string {
  const letter = String.fromCharCode(65 + (at % 26))
  return at < 26 ? letter : columnName(Math.floor(at / 26) - 1) + letter
}

const maxPartBytes = 0xffff_ffff
/** 1980-01-01 00:00, the first moment that an archive can state. */
const firstDate = 0x0021

/** A ZIP archive of deflated parts, each smaller than 4 GiB. */
class ZipWriter {
  readonly #file: number
  readonly #directory: Buffer[] = []
  #at = 0

  constructor(path: string) {
    this.#file = openSync(path, 'wx', 0o600)
  }

  async add(name: string, texts: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const start = this.#at
    const head = Buffer.alloc(30)
    this.#write(head)
    this.#write(Buffer.from(name))
    const from = this.#at
    let crc = 0
    let size = 0
    const deflate = createDeflateRaw()
    const written = this.#writeAll(deflate)
    try {
      for await (const text of texts) {
        const bytes = Buffer.from(text)
        crc = crc32(bytes, crc)
        size += bytes.length
        if (size > maxPartBytes) throw new Refusal('workbook.too_large_to_write')
        await new Promise<void>((resolve, reject) => {
          deflate.write(bytes, (error) => (error ? reject(error) : resolve()))
        })
      }
      deflate.end()
      await written
    } catch (error) {
      deflate.destroy()
      await written.catch(() => {})
      throw error
    }
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt16LE(firstDate, 8)
    facts.writeUInt32LE(crc, 10)
    facts.writeUInt32LE(this.#at - from, 14)
    facts.writeUInt32LE(size, 18)
    facts.writeUInt16LE(name.length, 22)
    head.writeUInt32LE(0x0403_4b50, 0)
    facts.copy(head, 4)
    writeSync(this.#file, head, 0, head.length, start)
    const record = Buffer.alloc(46)
    record.writeUInt32LE(0x0201_4b50, 0)
    record.writeUInt16LE(20, 4)
    facts.copy(record, 6)
    record.writeUInt32LE(start, 42)
    this.#directory.push(record, Buffer.from(name))
  }

  finish(): void {
    const directory = Buffer.concat(this.#directory)
    const end = Buffer.alloc(22)
    end.writeUInt32LE(0x0605_4b50, 0)
    end.writeUInt16LE(this.#directory.length / 2, 8)
    end.writeUInt16LE(this.#directory.length / 2, 10)
    end.writeUInt32LE(directory.length, 12)
    end.writeUInt32LE(this.#at, 16)
    this.#write(directory)
    this.#write(end)
  }

  close(): void {
    closeSync(this.#file)
  }

  async #writeAll(chunks: AsyncIterable<Buffer>): Promise<void> {
    for await (const chunk of chunks) this.#write(chunk)
  }

  #write(bytes: Buffer): void {
    if (this.#at + bytes.length > maxPartBytes) throw new Refusal('workbook.too_large_to_write')
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#file, bytes, at, bytes.length - at, this.#at + at)
    this.#at += bytes.length
  }
}
