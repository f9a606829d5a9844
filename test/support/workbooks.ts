import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { strToU8, zipSync } from 'fflate'
import { readWorkbook } from '../../src/csv/workbook/read.js'

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
const types = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packages = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'

/** A workbook of the tests: the XML of its rows by the name of their sheet, and of its other parts. */
interface Given {
  readonly sheets: Readonly<Record<string, string>>
  readonly hidden?: readonly string[]
  readonly sharedStrings?: string
  readonly styles?: string
  readonly workbookPr?: string
  /** Parts that are added or replaced, as they are. */
  readonly parts?: Readonly<Record<string, string | Uint8Array>>
}

/** Returns the bytes of a workbook as Excel writes one. */
export function workbookOf(given: Given): Uint8Array {
  const { sheets, hidden = [], sharedStrings = '', styles = '', workbookPr = '', parts = {} } = given
  const names = Object.keys(sheets)
  const listed = names.map(
    (name, at) =>
      `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"${hidden.includes(name) ? ' state="hidden"' : ''}/>`,
  )
  const related = [
    ...names.map((_, at) => relation(`rId${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`)),
    relation('rIdS', 'sharedStrings', 'sharedStrings.xml'),
    relation('rIdT', 'styles', '/xl/styles.xml'),
  ]
  const xml: Record<string, string | Uint8Array> = {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': `<Relationships ${packages}>${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${types}">${workbookPr}<sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships ${packages}>${related.join('')}</Relationships>`,
    'xl/sharedStrings.xml': `<sst ${main}>${sharedStrings}</sst>`,
    'xl/styles.xml': `<styleSheet ${main}>${styles}</styleSheet>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, at) => [
        `xl/worksheets/sheet${at + 1}.xml`,
        `<worksheet ${main}><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    ...parts,
  }
  return zipSync(
    Object.fromEntries(
      Object.entries(xml).map(([name, content]) => [
        name,
        typeof content === 'string' ? strToU8(declaration + content) : content,
      ]),
    ),
  )
}

const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${types}/${type}" Target="${target}"/>`

/** Returns the XML of a row of texts, which are in its cells. */
export const textRow = (...texts: readonly string[]): string =>
  `<row>${texts.map((text) => `<c t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`).join('')}</row>`

/** Returns a workbook of one sheet with rows of texts. */
export const workbookOfRows = (rows: readonly (readonly string[])[], name = 'Sheet1'): Uint8Array =>
  workbookOf({ sheets: { [name]: rows.map((row) => textRow(...row)).join('') } })

/** Returns a sheet of a workbook as CSV, which is written to a new file. */
export async function sheetAsCsv(workbook: string, file: string, sheet?: string): Promise<string> {
  const csv = openSync(file, 'wx')
  await readWorkbook({ workbook, sheet, csv }).finally(() => closeSync(csv))
  return readFile(file, 'utf8')
}
