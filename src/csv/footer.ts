import type { Note } from '../api/calls/errors.js'
import type { CsvRow } from './parse.js'

export interface SkippedRows {
  readonly rows: number
  readonly firstLine: number
  readonly lastLine: number
  /** The first lines, and the first text in them. */
  readonly lines: readonly number[]
  readonly sample: string
}

/** The rows of a file that are no records: below them, totals and who made a report of what; between them, sums. */
export interface Footer {
  readonly end?: SkippedRows
  readonly sums?: SkippedRows
}

/** Returns what a person should know about it. */
export const footerNote = (footer: Footer): Note => ({ code: 'csv.footer', details: { ...footer } })

const shownLines = 20

/** Counts the rows that are no records as they are read. */
export class FooterCounter {
  found: Footer | undefined

  /** Returns whether a row is one of the footer, or a sum. */
  add({ isFooter, isSum, line, cells }: CsvRow): boolean {
    if (!isFooter) return false
    const where = isSum ? 'sums' : 'end'
    const { rows, firstLine, lines, sample } = this.found?.[where] ?? {
      rows: 0,
      firstLine: line,
      lines: [],
      sample: filledIn(cells)[0] ?? '',
    }
    const shown = lines.length < shownLines ? [...lines, line] : lines
    this.found = {
      ...this.found,
      [where]: { rows: rows + 1, firstLine, lastLine: line, lines: shown, sample },
    }
    return true
  }
}

/** Words of totals. Alone they may also be the name of a company. */
const total =
  '(?:grand |overall |sub-?)?totals?(?: g[eé]n[eé]ral[e]?| general| complessivo| count)?|sous-total|somme|suma|somma|summe|sum|' +
  'gesamt(?:summe|ergebnis|zahl|anzahl)?|zwischensumme|endsumme|ergebnis|totale?(?: generale)?|totaal|eindtotaal|subtotaal|count|anzahl'
const bareTotal = new RegExp(`^(?:\\*{1,3}|Σ|(?:${total})\\s*:?)$`, 'i')
/** Totals that say what they count: no company is called so. */
const sureTotal = new RegExp(
  [
    `^(?:${total})\\s*(?:\\(\\s*[\\d.,' ]+\\b.*\\)|[:=]\\s*[\\d.,' ]+.*)$`,
    '^grand totals?\\b.{0,20}$|^(?:gesamt|zwischen|end)summe$|^gesamtergebnis$|^total g[eé]n[eé]ral$|^total general$|^totale generale$|^eindtotaal$',
    "^(?:(?:total|number of|row|record|gesamt|anzahl(?: der)?|nombre (?:de|d')|número de|numero di|aantal)\\s*)*" +
      '(?:rows?|records?|results?|accounts?|contacts?|leads?|zeilen|datens[aä]tze|einträge|treffer|lignes|enregistrements|filas|registros|righe|rijen)' +
      "(?:\\s+(?:count|exported|found|total))?\\s*[:=]\\s*[\\d.,' ]+$",
    "^[\\d.,' ]+ (?:rows?|records?|results?|datens[aä]tze|zeilen|einträge|treffer|lignes|enregistrements|filas|registros|righe|record|rijen)" +
      '(?: (?:exported|found|in total|total|selected|insgesamt|gefunden))?\\.?$',
  ].join('|'),
  'i',
)

/** A word of sums, which a company, a country or a range of accounts may follow. */
const groupedSum =
  /^(?:summe|zwischensumme|gesamtsumme|endsumme|sous-total|sub-?total|subtotaal)\s+\S+(?:\s\S+){0,2}$/i
const carried = new RegExp(`^(?:${total}|gesamt|saldo|[üu]e?bertrag)\\s*:?$`, 'i')
/** The code of a country, or a range of accounts, behind any word of totals. */
const group = /\s+(?:[A-Z]{1,3}|\d{3,}(?:\s*[-–]\s*\d{3,})?)$/
const legalForm =
  /\s(?:gmbh|ag|se|sa|sas|sarl|kg|ohg|ug|ltd|llc|lp|inc|corp|co|plc|bv|nv|srl|spa|sl|ab|oy|as|a\/s|aps|kft|doo)\.?$/i
const longestSum = 40
/** How all of them begin: most rows are seen at once to be none. */
const mayBeSum =
  /^(?:grand|overall|sub|tot|sous|som|sum|gesamt|zwischen|end|ergebnis|eind|count|anzahl|saldo|[üu]e?bertrag)/i

/** Whether a text is what stands at the beginning of a sum. */
const isSumWord = (text: string): boolean => {
  if (!mayBeSum.test(text) || text.length > longestSum || legalForm.test(text)) return false
  return groupedSum.test(text) || carried.test(text.replace(group, '')) || sureTotal.test(text)
}

/** Names of columns whose numbers are no amounts. */
const numbered =
  /(?:^|[^\p{L}])(?:id|ids|nr|no|num|number|nummer|numéro|número|code|key|konto|account|plz|zip|postal|postcode|tel|telefon|phone|téléphone|mobile?|handy|fax|vat|ust|siren|siret|year|jahr|année|año|anno)(?:$|[^\p{L}])/iu

/** So many records show which columns of a table are filled. */
const profiled = 200

/**
 * Marks the sums that stand above or between the records of a table: rows of a total's word and amounts alone that are blank
 * where records are filled. In a table of names and amounts, they show by a blank row above them, or the bare word.
 */
async function* markSums(batches: AsyncIterable<readonly CsvRow[]>): AsyncGenerator<readonly CsvRow[]> {
  let header: readonly string[] | undefined
  let above: CsvRow | undefined
  /** The first records, by whether each of their cells is filled. */
  const records: (readonly boolean[])[] = []
  const isSum = (row: CsvRow, below: readonly (readonly boolean[])[]): boolean => {
    const { cells } = row
    const first = cells.findIndex((cell) => cell.trim() !== '')
    if (first < 0 || !isSumWord((cells[first] as string).trim())) return false
    const others = [...cells.entries()].filter(([at, cell]) => at > first && cell.trim() !== '')
    const isAmount = ([at, cell]: readonly [number, string]) =>
      amount.test(cell.trim()) && !numbered.test(header?.[at] ?? '')
    if (others.length === 0 || !others.every(isAmount)) return false
    const compared = records.length > 0 ? records : below
    if (compared.length === 0) return false
    const isBlank = (at: number) => (cells[at] ?? '').trim() === ''
    const fuller = compared.filter((record) => record.some((isFilled, at) => isFilled && isBlank(at))).length
    if (fuller > 0) return fuller >= 0.9 * compared.length
    return carried.test((cells[first] as string).trim()) || isBelowBlank(row, above)
  }
  for await (const batch of withRecordsBelow(batches)) {
    let marked: CsvRow[] | undefined
    // A sum directly below the header is told by the rows below it.
    const below =
      records.length > 0 ? [] : filledRows(batch.slice(header === undefined ? 1 : 0).slice(1, profiled))
    for (const [at, row] of batch.entries()) {
      if (header === undefined) header = row.cells
      else if (isSum(row, below)) {
        marked ??= [...batch]
        marked[at] = { ...row, isFooter: true, isSum: true }
      } else if (records.length < profiled) {
        records.push(...filledRows([row]))
      }
      above = row
    }
    yield marked ?? batch
  }
}

/** Returns which cells of rows are filled, of those that are not blank. */
const filledRows = (rows: readonly CsvRow[]): (readonly boolean[])[] =>
  rows.map(({ cells }) => cells.map((cell) => cell.trim() !== '')).filter((filled) => filled.includes(true))

/** The first rows come together, so that a row below the header is seen with those below it. */
const firstRows = 3

/** Yields batches, of which the first has a few rows below the header where the table has them. */
async function* withRecordsBelow(
  batches: AsyncIterable<readonly CsvRow[]>,
): AsyncGenerator<readonly CsvRow[]> {
  let first: readonly CsvRow[] | undefined = []
  try {
    for await (const batch of batches) {
      const rows: readonly CsvRow[] = first === undefined ? batch : [...first, ...batch]
      first = first !== undefined && rows.length < firstRows ? rows : undefined
      if (first === undefined) yield rows
    }
  } catch (error) {
    if (first !== undefined && first.length > 0) yield first
    throw error
  }
  if (first !== undefined && first.length > 0) yield first
}

/** What only a report says: who made it and when, what it was filtered by, and whose it is. */
const remark = new RegExp(
  [
    '^(?:copyright\\b|©|\\(c\\)\\s*\\d{4})',
    '^(?:strictly |company )?confidential\\b.*\\b(?:do not|not for|internal|information|proprietary)',
    '^(?:vertraulich|confidentiel|confidencial|riservato|vertrouwelijk)\\b.*[-–:,.]',
    '^(?:report |list |file |data )?(?:generated|exported|created|printed|downloaded|prepared|extracted|retrieved)\\s+(?:by|on|at|from|via|using|with)\\b.*[:\\d]',
    '^(?:bericht |liste |datei )?(?:erstellt|exportiert|gedruckt|erzeugt|generiert|ausgedruckt)\\s+(?:von|am|durch|mit|aus|um)\\b.*[:\\d]',
    '^(?:rapport |liste |fichier )?(?:g[eé]n[eé]r[eé]e?|export[eé]e?|cr[eé][eé]e?|imprim[eé]e?|[eé]dit[eé]e?)\\s+(?:par|le|depuis|avec)\\b.*[:\\d]',
    '^(?:informe |lista )?(?:generado|exportado|creado|impreso)\\s+(?:por|el|desde|con)\\b.*[:\\d]',
    '^(?:rapporto |report |elenco )?(?:generato|esportato|creato|stampato)\\s+(?:da|il|con)\\b.*[:\\d]',
    '^(?:gegenereerd|geëxporteerd|gemaakt|afgedrukt)\\s+(?:door|op|met)\\b.*[:\\d]',
    '^(?:applied |active )?filter(?:s|ed by)?\\s*(?::|$)|^applied filters\\b|^(?:gefiltert nach|angewendete filter|filtr[eé] par|filtres appliqu[eé]s|filtrado por|filtrato per)\\b',
    "^(?:as of|stand(?: vom)?|report date|export date|run date|generated|created|exportdatum|berichtsdatum|date d['’]export|data esportazione)\\s*:?\\s*\\d{1,4}[./-]\\d",
    '^(?:page|seite|p[aá]gina|pagina)\\s+\\d+\\s+(?:of|von|sur|de|di|van)\\s+\\d+$|^page\\s+\\d+\\s*/\\s*\\d+$',
    '^[\\W_]*(?:end of (?:the )?(?:report|file|list|data|document|export)|ende (?:der liste|des berichts|der datei)|listenende|fin (?:du rapport|de la liste|du fichier|del informe|de la lista)|fine (?:del )?(?:rapporto|elenco|report))[\\W_]*$',
  ].join('|'),
  'i',
)

/** An amount or a share, as it stands beside a total; a telephone number or a postal code begins with `+` or 0. */
const amount =
  /^[-–(]?\s*(?:[€$£¥]|[A-Z]{3}\s)?\s*-?(?:0|[1-9]\d*)(?:[\s.,'’]\d+)*\s*\)?\s*(?:[€$£¥%]|[A-Z]{3})?$/
/** An address says whom a row is about, whatever else it says. */
const address = /@|:\/\/|^\S+\.[^\s\d.]{2,}$/

const filledIn = (cells: readonly string[]): string[] =>
  cells.map((cell) => cell.trim()).filter((cell) => cell !== '')

type RowKind = 'blank' | 'remark' | 'total' | 'bare total' | 'single' | 'record'

function kindOf(cells: readonly string[]): RowKind {
  const [first, ...others] = filledIn(cells)
  if (first === undefined) return 'blank'
  const hasAddress = others.some((cell) => address.test(cell))
  if (remark.test(first)) return hasAddress ? 'record' : 'remark'
  if (others.every((cell) => amount.test(cell))) {
    if (sureTotal.test(first)) return 'total'
    if (bareTotal.test(first)) return others.length > 0 ? 'total' : 'bare total'
  }
  return others.length === 0 && !address.test(first) ? 'single' : 'record'
}

/** No footer has more rows. */
const mostRows = 40

interface ClassifiedRow {
  readonly row: CsvRow
  readonly kind: RowKind
}

/**
 * Marks the rows at the end of a table that are a footer, and no records. The first row, its header, is none. A row counts
 * where its words are those of a total or a report, and nothing else in it says whom it may be about; rows of one cell
 * count only among or above those of a report (decision 14).
 */
export async function* markFooter(read: AsyncIterable<readonly CsvRow[]>): AsyncGenerator<CsvRow[]> {
  const batches = markSums(read)
  let held: ClassifiedRow[] = []
  let before: CsvRow | undefined
  try {
    for await (const batch of batches) {
      if (batch.length === 0) continue
      const tail: ClassifiedRow[] = []
      let from = batch.length
      const first = before === undefined && held.length === 0 ? 1 : 0
      while (from > first && tail.length < mostRows) {
        const row = batch[from - 1] as CsvRow
        const kind = row.isSum ? 'total' : kindOf(row.cells)
        if (kind === 'record') break
        tail.unshift({ row, kind })
        from--
      }
      const isJoined = from === 0 && held.length + tail.length <= mostRows
      const rows = [...(isJoined ? [] : held.map(({ row }) => row)), ...batch.slice(0, from)]
      held = isJoined ? [...held, ...tail] : tail
      before = rows.at(-1) ?? before
      if (rows.length > 0) yield rows
    }
  } catch (error) {
    // Rows before an error come first, and the end of the file is not known.
    if (held.length > 0) yield held.map(({ row }) => row)
    throw error
  }
  const start = footerStart(held, before)
  if (held.length > 0)
    yield held.map(({ row, kind }, at) =>
      at < start || kind === 'blank' ? row : { ...row, isFooter: true, isSum: false },
    )
}

/** Returns where the footer among the last rows begins; their number where there is none. */
function footerStart(held: readonly ClassifiedRow[], before: CsvRow | undefined): number {
  const remarks = held.findIndex(({ kind }) => kind === 'remark')
  let start = remarks < 0 ? held.length : remarks
  if (remarks < 0) while (held[start - 1]?.kind === 'blank') start--
  else start = titleAbove(held, remarks, before)
  for (let at = start; at > 0; at--) {
    const { kind } = held[at - 1] as ClassifiedRow
    if (kind === 'total' || (kind === 'bare total' && isApart(held, at - 1, before))) start = at - 1
    else if (kind !== 'blank') break
  }
  return start
}

const longestTitle = 3

/** Returns where the name of a report begins, which stands apart from the records and directly above its remarks. */
function titleAbove(held: readonly ClassifiedRow[], remarks: number, before: CsvRow | undefined): number {
  let at = remarks
  while (at > 0 && held[at - 1]?.kind === 'single' && !isAfterBlank(held, at, before)) at--
  const isTitle = at < remarks && remarks - at <= longestTitle && isAfterBlank(held, at, before)
  // In a list of names alone, each of them looks like a title.
  const above = held.slice(0, at).every(({ kind }) => kind !== 'single')
  return isTitle && above && hasWideRows(before) ? at : remarks
}

const hasWideRows = (before: CsvRow | undefined): boolean =>
  before !== undefined && filledIn(before.cells).length > 1

const isApart = (held: readonly ClassifiedRow[], at: number, before: CsvRow | undefined): boolean =>
  isAfterBlank(held, at, before) ||
  (hasWideRows(before) && held.slice(0, at).every(({ kind }) => kind !== 'single'))

/** Whether lines without text are above a row. */
function isAfterBlank(held: readonly ClassifiedRow[], at: number, before: CsvRow | undefined): boolean {
  const above = at === 0 ? before : held[at - 1]?.row
  const own = held[at]?.row
  if (!above || !own) return false
  if (at > 0 && held[at - 1]?.kind === 'blank') return true
  return isBelowBlank(own, above)
}

/** Whether lines without text are between two rows. */
function isBelowBlank(own: CsvRow, above: CsvRow | undefined): boolean {
  if (!above) return false
  if (above.cells.every((cell) => cell.trim() === '')) return true
  const lines = above.cells.reduce((sum, cell) => sum + (cell.match(/\n/g)?.length ?? 0), 1)
  return own.line > above.line + lines
}
