import { writeSync } from 'node:fs'
import { posix } from 'node:path'
import { Refusal } from '../../api/calls/errors.js'
import { once } from '../../api/values/objects.js'
import { cellWriter } from '../cells.js'
import { isColumnName, normaliseName, synonymsOf } from '../names.js'
import type { UncalculatedColumn } from '../uncalculated.js'
import { type Archive, type GrowthLimit, openArchive } from './archive.js'
import { decodeEscapes, formatValue, type NumberFormat, numberFormatOf } from './values.js'

/** Which sheet of which workbook becomes which CSV file. */
export interface ReadTask {
  readonly workbook: string
  /** Name of the sheet; when absent the first visible one with names of columns, or else the first visible one. */
  readonly sheet: string | undefined
  /** The descriptor of an empty file. */
  readonly csv: number
}

/** The same as in a CSV file. */
const rowLimit = 1_048_576
const maxColumns = 16_384
const maxRows = 1_048_576
/** The texts of a workbook are in memory. */
const maxTextBytes = 256 * 2 ** 20

/** The sheet that was read, and the other visible ones. */
export interface ChosenSheet {
  readonly sheet: string
  readonly others: readonly string[]
  readonly uncalculated: readonly UncalculatedColumn[]
}

/** Writes a sheet as CSV in UTF-8, one row for each row of the sheet. Throws a Refusal where that is impossible. */
export async function readWorkbook({ workbook, sheet, csv }: ReadTask): Promise<ChosenSheet> {
  const archive = await openArchive(workbook)
  try {
    const { sheets, isFrom1904, sharedStrings, styles } = await readParts(archive, workbook)
    const texts = await readSharedStrings(archive, sharedStrings, workbook)
    const formats = await readFormats(archive, styles)
    const lookups = { texts, formats, isFrom1904 }
    const visible = sheets.filter(({ isHidden }) => !isHidden)
    const { name, part } =
      sheet === undefined && visible.length > 1
        ? await firstWithNames(archive, visible, lookups)
        : chooseSheet(workbook, sheets, sheet)
    if (!archive.has(part)) throw new Refusal('workbook.damaged', { path: workbook, cause: 'sheet' })
    const rows = new CsvRows(csv, archive.limit)
    const formulas = new Formulas()
    await readSheet(archive, part, lookups, rows, formulas, await readLinks(archive, part))
    rows.end()
    return {
      sheet: name,
      others: visible.flatMap((one) => (one.part === part ? [] : one.name)).slice(0, maxNames),
      uncalculated: formulas.uncalculated,
    }
  } finally {
    archive.close()
  }
}

interface Sheet {
  readonly name: string
  readonly part: string
  readonly isHidden: boolean
}

async function readParts(archive: Archive, path: string) {
  const root = await readRelations(archive, '')
  const workbook = root.find(({ type }) => type === 'officeDocument')?.part ?? ''
  if (!archive.has(workbook)) throw new Refusal('workbook.none', { path })
  const relations = await readRelations(archive, workbook)
  const byId = new Map(relations.map((relation) => [relation.id, relation]))
  const sheets: Sheet[] = []
  let isFrom1904 = false
  await archive.parse(workbook, {
    open(name, attributes) {
      if (name === 'workbookPr') isFrom1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '')
      if (name !== 'sheet') return
      const [, id] = Object.entries(attributes).find(([key]) => key.endsWith(':id')) ?? []
      const target = byId.get(id ?? '')
      // Sheets that are charts have no cells.
      if (target?.type === 'worksheet')
        sheets.push({
          name: attributes.name ?? '',
          part: target.part,
          isHidden: (attributes.state ?? 'visible') !== 'visible',
        })
    },
  })
  const partOf = (type: string) => relations.find((one) => one.type === type)?.part ?? ''
  return { sheets, isFrom1904, sharedStrings: partOf('sharedStrings'), styles: partOf('styles') }
}

async function readRelations(archive: Archive, part: string) {
  const relations: Record<'id' | 'type' | 'part' | 'target', string>[] = []
  const folder = posix.dirname(part)
  await archive.parse(posix.join(folder, '_rels', `${posix.basename(part)}.rels`), {
    open(name, { Id: id = '', Type: type = '', Target: target = '' }) {
      if (name !== 'Relationship') return
      const path = target.startsWith('/') ? target.slice(1) : posix.join(folder, target)
      relations.push({ id, type: type.slice(type.lastIndexOf('/') + 1), part: path, target })
    },
  })
  return relations
}

/** Where the cells of a sheet lead to, by the reference of the cell. */
type Links = ReadonlyMap<string, string>

/** Spreadsheets have no more. */
const maxLinks = 65_530

/** Returns the addresses that cells of a sheet lead to. They stand behind its rows, so that only a sheet with any is read for them. */
async function readLinks(archive: Archive, sheet: string): Promise<Links> {
  const links = new Map<string, string>()
  const relations = (await readRelations(archive, sheet)).filter(({ type }) => type === 'hyperlink')
  if (relations.length === 0) return links
  const targets = new Map(relations.map(({ id, target }) => [id, target]))
  await archive.parse(sheet, {
    open(name, attributes) {
      if (name !== 'hyperlink' || links.size >= maxLinks) return
      const [, id = ''] = Object.entries(attributes).find(([key]) => key.endsWith(':id')) ?? []
      const target = targets.get(id)
      const [cell = ''] = (attributes.ref ?? '').split(':', 1)
      if (target !== undefined && isWebAddress.test(target)) links.set(cell.toUpperCase(), target)
    },
  })
  return links
}

const isWebAddress = /^https?:\/\/\S+$/i
const linkFormula = /^\s*HYPERLINK\(\s*"(https?:\/\/[^"\s]+)"/i

/** Names of columns whose cells are addresses. */
const addressColumns = once(
  () =>
    new Set(
      [
        ['companies', 'domain'],
        ['companies', 'website'],
        ['companies', 'network_url'],
        ['people', 'company_domain'],
        ['people', 'network_profile_url'],
        ['people', 'premium_profile_url'],
      ].flatMap(([kind = '', field = '']) =>
        [field, ...(synonymsOf(kind, field).sure ?? [])].map(normaliseName),
      ),
    ),
)

/** Takes the address that a cell leads to, where its text is none and its column is for addresses. */
class LinkedCells {
  readonly #columns = new Set<number>()

  /** Returns the text of a cell; the first rows tell which columns are for addresses. */
  read(text: string, row: number, column: number, link: string | undefined): string {
    if (link !== undefined && this.#columns.has(column) && !/\S[.@]\S|:\/\//.test(text)) return link
    if (row <= rowsOfBeginning && addressColumns().has(normaliseName(text))) this.#columns.add(column)
    return text
  }
}

const maxNames = 50

function chooseSheet(path: string, sheets: readonly Sheet[], name: string | undefined): Sheet {
  const wanted = name?.trim().toLowerCase()
  const found =
    wanted === undefined
      ? (sheets.find(({ isHidden }) => !isHidden) ?? sheets[0])
      : (sheets.find((one) => one.name === name) ??
        sheets.find((one) => one.name.trim().toLowerCase() === wanted))
  if (found) return found
  if (sheets.length === 0) throw new Refusal('workbook.no_cells', { path })
  const names = sheets.slice(0, maxNames).map((one) => one.name)
  throw new Refusal('workbook.no_sheet', { path, name, names, more: sheets.length - names.length })
}

/** Sheets that are looked at for names of columns. */
const maxLookedAt = 20

/** Returns the first sheet that has two names of columns in a row, or one in its only column; the first where none has. */
async function firstWithNames(
  archive: Archive,
  sheets: readonly Sheet[],
  lookups: SheetLookups,
): Promise<Sheet> {
  let single: Sheet | undefined
  for (const sheet of sheets.slice(0, maxLookedAt)) {
    const beginning = new FirstRows()
    await readSheet(archive, sheet.part, lookups, beginning)
    if (beginning.mostNames > 1) return sheet
    if (beginning.mostNames === 1 && beginning.width === 1) single ??= sheet
  }
  return single ?? (sheets[0] as Sheet)
}

/** What takes the rows of a sheet. */
type SheetRows = Pick<CsvRows, 'add'> & { readonly isDone?: boolean }

/** The names of columns in the first rows of a sheet. */
class FirstRows implements SheetRows {
  #rows = 0
  mostNames = 0
  width = 0

  get isDone(): boolean {
    return this.#rows >= rowsOfBeginning
  }

  add(_: number, cells: readonly (string | undefined)[]): void {
    if (this.isDone || cells.length === 0) return
    this.#rows++
    const names = cells.filter((cell) => cell !== undefined && cell !== '' && isColumnName(cell))
    this.mostNames = Math.max(this.mostNames, names.length)
    this.width = Math.max(this.width, cells.length)
  }
}

/** Texts of cells, packed: as many strings would take a multiple of the memory. */
class PackedTexts {
  #bytes: Buffer = Buffer.allocUnsafe(1 << 20)
  #ends = new Uint32Array(1 << 14)
  #count = 0
  #length = 0

  constructor(private readonly path: string) {}

  add(text: string): void {
    const most = this.#length + 3 * text.length
    if (most > this.#bytes.length) this.#bytes = this.#grown(most)
    this.#length += this.#bytes.write(text, this.#length)
    if (this.#count === this.#ends.length) {
      const ends = new Uint32Array(2 * this.#count)
      ends.set(this.#ends)
      this.#ends = ends
    }
    this.#ends[this.#count++] = this.#length
  }

  at(index: number): string | undefined {
    if (!(index >= 0 && index < this.#count)) return undefined
    return this.#bytes.toString('utf8', index === 0 ? 0 : this.#ends[index - 1], this.#ends[index])
  }

  #grown(bytes: number): Buffer {
    if (bytes > maxTextBytes)
      throw new Refusal('workbook.texts_too_long', { path: this.path, max: maxTextBytes / 2 ** 20 })
    const grown = Buffer.allocUnsafe(Math.min(maxTextBytes, Math.max(bytes, this.#bytes.length * 1.5)))
    this.#bytes.copy(grown, 0, 0, this.#length)
    return grown
  }
}

async function readSharedStrings(archive: Archive, part: string, path: string): Promise<PackedTexts> {
  const texts = new PackedTexts(path)
  const current = new CellText()
  await archive.parse(part, {
    open(name) {
      if (name === 'si') current.clear()
      else current.open(name)
    },
    text: (text) => current.add(text),
    close(name) {
      if (name === 'si') texts.add(decodeEscapes(current.text))
      else current.close(name)
    },
  })
  return texts
}

/** The text of a cell, which can come in runs of several formats; how it is pronounced is no part of it. */
class CellText {
  text = ''
  #isOpen = false
  #isPhonetic = false

  clear(): void {
    this.text = ''
    this.#isOpen = false
  }

  open(name: string): void {
    if (name === 'rPh') this.#isPhonetic = true
    else if (name === 't') this.#isOpen = !this.#isPhonetic
  }

  add(text: string): void {
    if (!this.#isOpen) return
    this.text += text
    if (this.text.length > rowLimit) throw new Refusal('workbook.cell_too_long', { max: rowLimit })
  }

  close(name: string): void {
    if (name === 'rPh') this.#isPhonetic = false
    else if (name === 't') this.#isOpen = false
  }
}

async function readFormats(archive: Archive, part: string): Promise<readonly (NumberFormat | undefined)[]> {
  const codes = new Map<number, string>()
  const formats: (NumberFormat | undefined)[] = []
  let isInCells = false
  await archive.parse(part, {
    open(name, { numFmtId = '0', formatCode = '' }) {
      const id = Number(numFmtId)
      if (name === 'numFmt') codes.set(id, formatCode)
      else if (name === 'cellXfs') isInCells = true
      else if (name === 'xf' && isInCells) formats.push(numberFormatOf(id, codes.get(id)))
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false
    },
  })
  return formats
}

interface SheetLookups {
  readonly texts: PackedTexts
  readonly formats: readonly (NumberFormat | undefined)[]
  readonly isFrom1904: boolean
}

/** Counts the formulas of each column that have no stored value, and the cells that have one. */
class Formulas {
  readonly #values: number[] = []
  readonly #without = new Map<number, { cells: number; readonly first: string }>()

  add(column: number, row: number, isUncalculated: boolean): void {
    if (!isUncalculated) {
      this.#values[column] = (this.#values[column] ?? 0) + 1
      return
    }
    const known = this.#without.get(column)
    if (known) known.cells++
    else this.#without.set(column, { cells: 1, first: `${lettersOf(column)}${row}` })
  }

  get uncalculated(): UncalculatedColumn[] {
    return [...this.#without]
      .sort(([one], [other]) => one - other)
      .map(([column, { cells, first }]) => ({
        at: column - 1,
        cells,
        first,
        values: this.#values[column] ?? 0,
      }))
  }
}

/** Returns the letters of a column of a sheet, counted from 1: 27 is `AA`. */
function lettersOf(column: number): string {
  let letters = ''
  for (let left = column; left > 0; left = Math.floor((left - 1) / 26))
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters
  return letters
}

/** Spreadsheets have no longer address. */
const longestLink = 2_200

async function readSheet(
  archive: Archive,
  part: string,
  lookups: SheetLookups,
  rows: SheetRows,
  formulas?: Formulas,
  links?: Links,
) {
  const inline = new CellText()
  const linked = new LinkedCells()
  let formula = ''
  let isInFormula = false
  let row = 0
  let column = 0
  let length = 0
  let cells: string[] = []
  let type = 'n'
  let style = 0
  let value = ''
  let isInCell = false
  let isInValue = false
  let isFormula = false
  let hasValue = false
  await archive.parse(part, {
    open(name, attributes) {
      if (name === 'row') {
        row = attributes.r === undefined ? row + 1 : Number(attributes.r)
        column = 0
        length = 0
        cells = []
      } else if (name === 'c') {
        column = attributes.r === undefined ? column + 1 : columnOf(attributes.r)
        type = attributes.t ?? 'n'
        style = Number(attributes.s ?? 0)
        value = ''
        inline.clear()
        isInCell = true
        isFormula = false
        hasValue = false
        formula = ''
      } else if (!isInCell) return
      else if (name === 'v') {
        isInValue = true
        hasValue = true
      } else if (name === 'f') isFormula = isInFormula = true
      else inline.open(name)
    },
    text(text) {
      if (isInValue) {
        value += text
        if (value.length > rowLimit) throw new Refusal('workbook.cell_too_long', { max: rowLimit })
      } else if (isInFormula) {
        if (formula.length < longestLink) formula += text
      } else if (isInCell) inline.add(text)
    },
    close(name) {
      if (name === 'v') isInValue = false
      else if (name === 'f') isInFormula = false
      else if (name === 'c') {
        isInCell = false
        const written = textOf(type, value, inline.text, style, lookups)
        const link =
          (links && links.size > 0 ? links.get(`${lettersOf(column)}${row}`) : undefined) ??
          (formula === '' ? undefined : linkFormula.exec(formula)?.[1])
        const text = links && written !== '' ? linked.read(written, row, column, link) : written
        // Programs store an empty text as one.
        const isUncalculated = text === '' && isFormula && !(type === 'str' && hasValue)
        if (text !== '' || isUncalculated) formulas?.add(column, row, isUncalculated)
        if (text === '') return
        length += text.length
        if (length > rowLimit) throw tooLong(row)
        while (cells.length < column - 1) cells.push('')
        cells[column - 1] = text
      } else if (name === 'row') rows.add(row, cells)
      else if (isInCell) inline.close(name)
    },
    isDone: () => rows.isDone === true,
  })
}

function columnOf(reference: string): number {
  let column = 0
  for (let at = 0; at < reference.length; at++) {
    const letter = (reference.charCodeAt(at) | 32) - 96
    if (letter < 1 || letter > 26) break
    column = column * 26 + letter
  }
  if (column >= 1 && column <= maxColumns) return column
  throw new Refusal('workbook.beyond_columns', { cell: reference.slice(0, 20) })
}

function textOf(
  type: string,
  value: string,
  inline: string,
  style: number,
  { texts, formats, isFrom1904 }: SheetLookups,
): string {
  if (type === 's') {
    const text = value === '' ? '' : texts.at(Number(value))
    if (text === undefined) throw new Refusal('workbook.text_missing', { number: value })
    return text
  }
  if (type === 'inlineStr') return decodeEscapes(inline)
  if (type === 'str') return decodeEscapes(value)
  if (type === 'b') return value === '' ? '' : value === '0' ? 'FALSE' : 'TRUE'
  if (type === 'd') return value.replace(/T00:00:00(?:\.0+)?Z?$/, '')
  if (type === 'e') return value
  return formatValue(value, formats[style], isFrom1904)
}

const flushLength = 1 << 18

const tooLong = (row: number): Refusal => new Refusal('workbook.row_too_long', { max: rowLimit, line: row })

const rowsOfBeginning = 20

/** A CSV file with a line for each row of a sheet. Rows are as long as the header, or longer. */
class CsvRows {
  #text = ''
  #bytes = 0
  #row = 0
  #width = 0
  /** The first rows, until the header is known. */
  #beginning: { readonly row: number; readonly cells: readonly string[] }[] | undefined = []

  constructor(
    private readonly file: number,
    private readonly limit: GrowthLimit,
  ) {}

  add(row: number, cells: readonly string[]): void {
    this.#beginning?.push({ row, cells })
    if (!this.#beginning) this.#write(row, cells)
    else if (this.#beginning.length === rowsOfBeginning) this.#writeBeginning()
  }

  /** The header is the first row at least half as long as the longest: a title is shorter, a note beside the table longer. */
  #writeBeginning(): void {
    const beginning = this.#beginning ?? []
    this.#beginning = undefined
    const lengths = beginning.map(({ cells }) => cells.length)
    const longest = Math.max(0, ...lengths)
    this.#width = lengths.find((length) => length > 0 && length * 2 >= longest) ?? 0
    for (const { row, cells } of beginning) this.#write(row, cells)
  }

  #write(row: number, cells: readonly string[]): void {
    if (!(row > this.#row && row <= maxRows)) throw new Refusal('workbook.out_of_order', { row })
    // Blank lines keep the numbers of the lines those of the rows.
    this.#text += '\n'.repeat(row - 1 - this.#row)
    this.#row = row
    const missing = cells.length === 0 ? 0 : Math.max(0, this.#width - cells.length)
    const line = cells.map(toCsvCell).join(',') + ','.repeat(missing)
    if (line.length > rowLimit) throw tooLong(row)
    this.#text += `${line}\n`
    if (this.#text.length > flushLength) this.#flush()
  }

  end(): void {
    if (this.#beginning) this.#writeBeginning()
    this.#flush()
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    this.#bytes += bytes.length
    const { maxBytes } = this.limit
    if (this.#bytes > maxBytes) throw this.limit.exceeded({ row: this.#row })
    for (let at = 0; at < bytes.length; ) at += writeSync(this.file, bytes, at)
  }
}

const toCsvCell = cellWriter(',')
