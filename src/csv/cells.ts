import { stringify } from 'csv-stringify/sync'

/** Phone numbers in any usual form: `+49 89 123456; +1 (415) 555-0132`. A spreadsheet computes nothing but digits from them. */
const phones = /^\+[1-9](?:[ ().\-–/]{0,2}\d){6,14}(?:; \+[1-9](?:[ ().\-–/]{0,2}\d){6,14})*$/
const bareNumber = /^\+[1-9]\d{1,14}$/
/** What many systems write for no value. */
const dashes = /^-+$/
const number = /^[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)(?:e[+-]?\d+)?$/i
const triggers = new Set(['=', '+', '-', '@', '\t', '\r', '\n', '\0'])

const apostrophe = 39
/** No trigger has a higher code than `@`. */
const highestTrigger = 64

/**
 * Whether a spreadsheet could take a cell for a formula. Apostrophes before it do not matter: a cell that already
 * has one gets another, so that taking one away always gives back what was there.
 */
function isFormula(cell: string): boolean {
  const code = cell.charCodeAt(0)
  if (!(code <= highestTrigger)) return false
  let at = 0
  while (cell.charCodeAt(at) === apostrophe) at++
  if (!triggers.has(cell.charAt(at))) return false
  const core = cell.slice(at)
  return !bareNumber.test(core) && !number.test(core) && !phones.test(core) && !dashes.test(core)
}

/** Makes a cell safe to open in a spreadsheet: a possible formula gets an apostrophe; phone numbers, numbers and lone dashes do not. */
export const defuse = (cell: string): string => (isFormula(cell) ? `'${cell}` : cell)

/** Returns the cell as it was before `defuse`. */
export const undefuse = (cell: string): string =>
  cell.charCodeAt(0) === apostrophe && isFormula(cell) ? cell.slice(1) : cell

/** A formula that is nothing but a text, as exports write codes that a spreadsheet must not take for numbers. */
const textFormula = /^="((?:[^"]|"")*)"$/

/** Returns a cell of a file as it was meant: as it was before `defuse`, and the text of a formula that is nothing else. */
export function restoreCell(cell: string): string {
  const text = cell.startsWith('="') ? textFormula.exec(cell)?.[1] : undefined
  return text === undefined ? undefuse(cell) : text.replaceAll('""', '"')
}

/** Returns a writer of cells. Only those with a quote need csv-stringify, which takes 2 µs for a cell. */
export function cellWriter(delimiter: string): (cell: string) => string {
  const special = new RegExp(`["\\r\\n${delimiter.replace(/[\\\]^-]/g, '\\$&')}]`)
  return (cell) => {
    if (!special.test(cell)) return cell
    return cell.includes('"') ? stringify([[cell]], { quoted: true, eof: false }) : `"${cell}"`
  }
}

/** Returns a writer of lines, with cells made safe unless `raw`. */
export function lineWriter(delimiter: string, raw: boolean): (cells: readonly string[]) => string {
  const write = cellWriter(delimiter)
  return (cells) => {
    if (cells.length === 0) return ''
    // A blank line would be taken for no row.
    if (cells.length === 1 && cells[0] === '') return '""\n'
    const written = new Array<string>(cells.length)
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at] ?? ''
      // Most cells of a row without an answer.
      written[at] = cell === '' ? '' : write(raw ? cell : defuse(cell))
    }
    return `${written.join(delimiter)}\n`
  }
}
