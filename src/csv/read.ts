import { decode, type Encoding, skip } from './encoding.js'
import { undefuse } from './formulas.js'
import { parseRows, type Row } from './parse.js'

/** What is taken as it stands in a table. */
export interface RowOptions {
  /** Leaves cells as they are in the file, also those that were made safe for spreadsheets. */
  readonly raw?: boolean | undefined
  /** Takes a quote within an unquoted cell as it is, instead of refusing the file. */
  readonly looseQuotes?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit?: number | undefined
}

/** The rows of a table from the bytes of its file, the header among them; throws CsvError after what it could read. */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
  { delimiter, preamble }: Dialect,
  { raw = false, looseQuotes, limit }: RowOptions = {},
): AsyncGenerator<Row[]> {
  const texts = skip(Buffer.byteLength(preamble), decode(chunks, encoding))
  const firstLine = preamble === '' ? 1 : 2
  for await (const rows of parseRows(texts, { delimiter, firstLine, looseQuotes, limit }))
    yield raw ? rows : rows.map(restoreCells)
}

function restoreCells(row: Row): Row {
  return row.cells.some((cell) => cell.startsWith("'"))
    ? { line: row.line, cells: row.cells.map(undefuse) }
    : row
}

/** How the cells of a table are separated. */
export interface Dialect {
  readonly delimiter: string
  /** Text before the table: a `sep=` line with its line end, or nothing. */
  readonly preamble: string
}

const candidates = [',', ';', '\t', '|'] as const
const linesLookedAt = 50

/** The delimiter of a table by its beginning: a `sep=` line, else the candidate that its lines agree on. */
export function detectDialect(sample: string): Dialect {
  const sep = /^"?sep=([^"\r\n])"?(?:\r\n|\n|\r)/i.exec(sample)
  if (sep?.[1] !== undefined) return { delimiter: sep[1], preamble: sep[0] }
  return { delimiter: agreedDelimiter(countPerLine(sample)), preamble: '' }
}

/** Of each line, how often each candidate stands outside quotes. */
type Counts = readonly (readonly number[])[]

function agreedDelimiter(lines: Counts): string {
  const [header = []] = lines
  const score = (at: number) => lines.filter((counts) => counts[at] === header[at]).length
  const inHeader = candidates
    .map((delimiter, at) => ({ delimiter, count: header[at] ?? 0, score: score(at) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.score - a.score || b.count - a.count)
  if (inHeader[0]) return inHeader[0].delimiter
  // One column only: a candidate that its cells hold would tear them apart.
  return candidates.find((_, at) => lines.every((counts) => counts[at] === 0)) ?? ','
}

function countPerLine(sample: string): Counts {
  const lines: number[][] = []
  let counts = candidates.map(() => 0)
  let quoted = false
  let start = 0
  for (let at = 0; at < sample.length && lines.length < linesLookedAt; at++) {
    const char = sample[at] as string
    if (char === '"') quoted = !quoted
    if (quoted) continue
    const candidate = candidates.indexOf(char as (typeof candidates)[number])
    if (candidate >= 0) counts[candidate] = (counts[candidate] ?? 0) + 1
    if (char !== '\n' && char !== '\r') continue
    if (at > start) lines.push(counts)
    counts = candidates.map(() => 0)
    start = at + 1
  }
  // The sample may end within a line, so its last one counts only when it is all there is.
  if (lines.length === 0) lines.push(counts)
  return lines
}
