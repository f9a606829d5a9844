import { Refusal } from '../api/calls/errors.js'
import { isColumnName } from './names.js'
import { splitRow, type TableFormat } from './parse.js'

const candidates = [',', ';', '\t', '|'] as const
const linesLookedAt = 50

/**
 * Returns the delimiter of a table by its beginning: from a `sep=` line, else the candidate that its lines agree on. Lines
 * above the header are its preamble: the first `skipLines`, or where that is not given, those before the row that names the
 * most columns.
 */
export function detectFormat(sample: string, skipLines?: number): TableFormat {
  const skipped = skipLines === undefined ? '' : firstLines(sample, skipLines)
  const text = sample.slice(skipped.length)
  const sep = /^"?sep=([^"\r\n])"?(?:\r\n|\n|\r)/i.exec(text)
  if (sep?.[1] !== undefined) return { delimiter: sep[1], preamble: skipped + sep[0] }
  const lines = readLines(text)
  const above = skipLines === undefined ? linesAboveHeader(lines) : 0
  const preamble = skipped + text.slice(0, lines[above]?.start ?? 0)
  return { delimiter: agreedDelimiter(lines.slice(above).map(({ counts }) => counts)), preamble }
}

function firstLines(text: string, count: number): string {
  const ends = /\r\n|\n|\r/g
  for (let line = 0; line < count; line++)
    if (!ends.exec(text)) throw new Refusal('csv.no_header_left', { count })
  return text.slice(0, ends.lastIndex)
}

/** A line of a table, which may hold quoted line ends, and how often each candidate is outside its quotes. */
interface TextLine {
  readonly start: number
  readonly text: string
  readonly counts: readonly number[]
}

const maxLinesAbove = 20
const rowsBelow = 10

/** The filled cells of a line, and how many of them are names of columns. */
interface NamedLine {
  readonly filled: number
  readonly names: number
  /** Whether no header is written like it: a label with a colon, a date or number, or a group that is repeated. */
  readonly isRemark: boolean
  /** Whether it is the line that DATEV writes above every header. */
  readonly isPreamble: boolean
}

/**
 * Returns how many lines are above the header, such as titles, and groups of columns in merged cells; 0 where the first line
 * may be one.
 */
function linesAboveHeader(lines: readonly TextLine[]): number {
  const found = candidates.map((delimiter, at) => headerAmong(lines, delimiter, at))
  return found.toSorted((one, other) => other.names - one.names)[0]?.index ?? 0
}

function headerAmong(lines: readonly TextLine[], delimiter: string, at: number) {
  const read = lines.slice(0, maxLinesAbove).map((line): NamedLine => {
    const filled = splitRow(line.text, delimiter).filter((cell) => cell.trim() !== '')
    const names = filled.filter((cell) => isColumnName(cell) && !label.test(cell))
    const isRepeated = names.length === 0 && new Set(filled).size < filled.length
    const isRemark = isRepeated || filled.some((cell) => label.test(cell) || datum.test(cell))
    const isPreamble = /^(?:EXTF|DTVF)$/.test(filled[0] ?? '')
    return { filled: filled.length, names: names.length, isRemark, isPreamble }
  })
  let best = { index: 0, names: read[0]?.names ?? 0 }
  for (const [index, line] of read.entries()) {
    const isNamed = line.names > 1 && line.names > best.names
    if (isNamed && read.slice(0, index).every((above) => isAbove(above, line)) && fitsBelow(lines, index, at))
      best = { index, names: line.names }
  }
  return best
}

/** `Date:`, beside what it is the label of. */
const label = /:\s*$/
/** A date or a number. */
const datum = /^\s*\d[\d.,:/\s-]*$/

/**
 * Whether a line may stand above a header: it has fewer cells, or as many that are written like no header, or none of its
 * cells is a name and all of the header's are.
 */
const isAbove = (line: NamedLine, header: NamedLine): boolean =>
  line.isPreamble ||
  line.filled < header.filled ||
  (line.filled === header.filled &&
    (line.isRemark ? line.names < header.names : line.names === 0 && header.names === header.filled))

/** A line that is drawn. */
const ruler = /^[-=_+|\s]+$/

/** Whether most rows below a line have no more cells than it. */
function fitsBelow(lines: readonly TextLine[], index: number, at: number): boolean {
  const width = lines[index]?.counts[at] ?? 0
  const below = lines.slice(index + 1, index + 1 + rowsBelow).filter(({ text }) => !ruler.test(text))
  const fitting = below.filter(({ counts }) => (counts[at] ?? 0) > 0 && (counts[at] ?? 0) <= width)
  return width > 0 && fitting.length * 2 > below.length
}

function agreedDelimiter(lines: readonly (readonly number[])[]): string {
  const [header = []] = lines
  const score = (at: number) => lines.filter((counts) => counts[at] === header[at]).length
  const inHeader = candidates
    .map((delimiter, at) => ({ delimiter, count: header[at] ?? 0, score: score(at) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.score - a.score || b.count - a.count)
  if (inHeader[0]) return inHeader[0].delimiter
  // There is one column only. A candidate in its cells would split them.
  return candidates.find((_, at) => lines.every((counts) => counts[at] === 0)) ?? ','
}

/** A line of notes or a letter: an item, a heading, or a sentence. */
const textLine = /^\s*(?:[-*•>]|#+)\s|(?:\S+\s+){4}\S/

/** A heading of Markdown: with marks before it, or a line of them below. */
const heading = /^#{1,6}\s+\S/
const underline = /^=+\s*$/

/**
 * Whether the beginning of a file reads like notes or a letter: its lines share no columns, and half of them are such lines, or the
 * first one is a heading.
 */
export function isText(sample: string, delimiter: string): boolean {
  const lines = readLines(sample)
  const at = candidates.indexOf(delimiter as (typeof candidates)[number])
  const width = lines[0]?.counts[at] ?? 0
  const alike = lines.filter(({ counts }) => counts[at] === width)
  if (width > 0 && alike.length * 2 > lines.length) return false
  const [first, second] = lines
  if (width === 0 && (heading.test(first?.text ?? '') || underline.test(second?.text ?? ''))) return true
  return lines.filter(({ text }) => textLine.test(text)).length * 2 >= lines.length
}

/** Returns the first lines of a table. Empty ones are left out. */
function readLines(sample: string): readonly TextLine[] {
  const lines: TextLine[] = []
  let counts = candidates.map(() => 0)
  let quoted = false
  // A quote within a cell is a letter.
  let atStart = true
  let start = 0
  for (let at = 0; at < sample.length && lines.length < linesLookedAt; at++) {
    const char = sample[at] as string
    if (char === '"' && (quoted || atStart)) quoted = !quoted
    if (quoted) continue
    const candidate = candidates.indexOf(char as (typeof candidates)[number])
    if (candidate >= 0) counts[candidate] = (counts[candidate] ?? 0) + 1
    const isEnd = char === '\n' || char === '\r'
    // The second of two quotes opens the cell again.
    atStart = isEnd || candidate >= 0 || char === '"' || (atStart && char === ' ')
    if (!isEnd) continue
    if (at > start) lines.push({ start, text: sample.slice(start, at), counts })
    counts = candidates.map(() => 0)
    start = at + 1
  }
  // The sample may end within a line, so its last one counts only where there is no other.
  if (lines.length === 0) lines.push({ start: 0, text: sample, counts })
  return lines
}
