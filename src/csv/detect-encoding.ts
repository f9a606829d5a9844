import { isUtf8 } from 'node:buffer'
import { Refusal } from '../api/calls/errors.js'
import known from './letter-pairs.json' with { type: 'json' }

/** An encoding that a file may have, and a cell as it reads in it. */
export interface Reading {
  readonly label: string
  readonly sample?: string
}

export interface Encoding {
  /** A label that TextDecoder knows. */
  readonly label: string
  /** Length of the byte order mark in bytes. */
  readonly mark: number
  /** What an encoding of one byte a character was detected by; absent where other bytes cannot be wrong. */
  readonly evidence?: Evidence
  /** A cell that has other letters in another encoding, where the encoding was detected by such letters. */
  readonly sample?: string
}

/** The lines that an encoding was detected by. */
interface Evidence {
  readonly lines: Buffer
  /** The bytes above ASCII in these lines. */
  readonly bytes: ReadonlySet<number>
}

const marks = [
  { label: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { label: 'utf-16le', bytes: [0xff, 0xfe] },
  { label: 'utf-16be', bytes: [0xfe, 0xff] },
] as const

/** How many bytes at the beginning of a file say what encoding it has. */
export const encodingSampleBytes = 1_048_576

/**
 * Returns the encoding of a file: by its mark, else the one that was asked for, else by its first bytes. Throws a Refusal
 * where these may as well be other letters in another encoding. What is nothing known is UTF-8 with an error in it.
 */
export function detectEncoding(head: Uint8Array, asked?: string): Encoding {
  const label = asked === undefined ? undefined : decoderFor(asked).encoding
  const mark = marks.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte))
  if (mark) return { label: mark.label, mark: mark.bytes.length }
  if (label !== undefined) return { label, mark: 0 }
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length)
  const wide = byNuls(bytes)
  if (wide !== undefined) return { label: wide, mark: 0 }
  if (isMostlyUtf8(bytes)) return { label: 'utf-8', mark: 0 }
  const { rival, ...found } = byLetters(linesOf(bytes))
  if (rival !== undefined) throw uncertain(found, rival, lineOfDifference(bytes, found.label, rival.label))
  return found
}

const uncertain = (found: Reading, rival: Reading, line: number): Refusal =>
  new Refusal('csv.encoding_uncertain', {
    readings: [found, rival].map(({ label, sample = '' }): Reading => ({ label, sample })),
    line,
  })

const lineOfDifference = (bytes: Buffer, label: string, other: string): number =>
  bytes
    .toString('latin1')
    .split(/\r\n|\n|\r/)
    .map((line) => Buffer.from(line, 'latin1'))
    .findIndex((line) => decodeAll(label, line) !== decodeAll(other, line)) + 1

/**
 * Latin text in UTF-16 has a NUL in every second byte, which UTF-8 never has. Other text has some beside its delimiters, all on
 * the same side, and at its line ends.
 */
function byNuls(head: Buffer): string | undefined {
  if (!head.includes(0)) return undefined
  const nuls = [0, 0]
  const wideEnds = [0, 0]
  let ends = 0
  const count = (counts: number[], side: number) => {
    counts[side] = (counts[side] ?? 0) + 1
  }
  for (let at = 0; at < head.length; at++) {
    if (head[at] === 0) count(nuls, at % 2)
    if (!isLineEnd(head[at])) continue
    ends++
    if (head[at % 2 === 0 ? at + 1 : at - 1] === 0) count(wideEnds, at % 2)
  }
  const isWide = (side: number) => {
    const [found = 0, others = 0] = side === 0 ? nuls : nuls.toReversed()
    if (found > head.length * 0.2) return others < found / 10
    return found > 1 && others === 0 && (wideEnds[1 - side] ?? 0) * 3 > ends
  }
  return isWide(1) ? 'utf-16le' : isWide(0) ? 'utf-16be' : undefined
}

const isLineEnd = (byte: number | undefined): boolean => byte === 10 || byte === 13

/** Whether bytes are UTF-8, or have so many of its characters that the others must be errors. */
function isMostlyUtf8(head: Buffer): boolean {
  if (isUtf8(head.subarray(0, head.length - unfinished(head)))) return true
  const text = head.toString()
  const errors = text.match(/\ufffd/g)?.length ?? 0
  return (text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0) > errors * 2
}

/** Returns how many bytes at the end belong to a character that is not complete yet. */
export function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
}

/** Returns a decoder that throws where bytes are no text. Throws a Refusal for an encoding that is not known. */
export function decoderFor(label: string) {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    throw new Refusal('csv.encoding_unknown', { label })
  }
}

/** Adds further bytes to the evidence. Throws a Refusal where these have letters that only another encoding explains. */
export function confirmEncoding(
  label: string,
  evidence: Evidence,
  further: Buffer,
  lineAt: (at: number) => number,
): Evidence {
  let all = evidence
  for (let at = 0; at < further.length; at++) {
    const byte = further[at] as number
    if (byte < 0x80 || all.bytes.has(byte)) continue
    const from = Math.max(further.lastIndexOf(10, at), further.lastIndexOf(13, at)) + 1
    const ends = [further.indexOf(10, at), further.indexOf(13, at)].filter((end) => end >= 0)
    const line = further.subarray(from, Math.min(...ends, further.length))
    const bytes = new Set([...all.bytes, ...line.filter((one) => one > 0x7f)])
    all = { lines: Buffer.concat([all.lines, Buffer.from('\n'), line]), bytes }
    confirmLine(label, all, line, () => lineAt(at))
  }
  return all
}

function confirmLine(label: string, evidence: Evidence, line: Buffer, number: () => number): void {
  const { rival, ...found } = byLetters(evidence)
  if (decodeAll(found.label, line) === decodeAll(label, line)) return
  if (rival !== undefined) throw uncertain(found, rival, number())
  const details = { label, found: found.label, line: number() }
  if (found.label === 'utf-8') throw new Refusal('csv.encoding_changes', details)
  throw new Refusal('csv.encoding_contradicted', {
    ...details,
    sample: firstDifference(line, found.label, label),
  })
}

/** Returns the encoding that text which is not UTF-8 may have; `undefined` where that is not certain. */
export function suggestEncoding(text: Buffer): string | undefined {
  const { label, rival } = byLetters(linesOf(text))
  return label === 'utf-8' || rival ? undefined : label
}

/** Most bytes of the lines that an encoding is detected by (decision 14), and lines with each byte. */
const maxEvidenceBytes = 16_384
const linesWithByte = 20

function linesOf(text: Buffer): Evidence {
  const counts = new Map<number, number>()
  const lines: Buffer[] = []
  let left = maxEvidenceBytes
  for (let from = 0; from < text.length && left > 0; ) {
    let to = from
    const wanted = new Set<number>()
    for (; to < text.length && !isLineEnd(text[to]); to++) {
      const byte = text[to] as number
      if (byte > 0x7f && (counts.get(byte) ?? 0) < linesWithByte) wanted.add(byte)
    }
    if (wanted.size > 0) {
      for (const byte of wanted) counts.set(byte, (counts.get(byte) ?? 0) + 1)
      // A character of several bytes may be cut at the end of the text, never at the end of a line.
      lines.push(text.subarray(from, Math.min(to + 1, from + left)))
      left -= to + 1 - from
    }
    from = to + 1
  }
  return { lines: Buffer.concat(lines), bytes: new Set(counts.keys()) }
}

/** The scripts of encodings: letters of alphabets are known by their neighbours, others by being common. */
type Script = 'latin' | 'cyrillic' | 'greek' | keyof typeof known.letters

/** Encodings that files may have, and how much rarer one is than the commonest of its script. */
const candidates: readonly (readonly [label: string, script: Script, rarity: number])[] = [
  ['windows-1252', 'latin', 0],
  ['windows-1250', 'latin', 2],
  ['macintosh', 'latin', 3],
  ['windows-1254', 'latin', 3],
  ['windows-1257', 'latin', 5],
  ['iso-8859-2', 'latin', 3],
  ['iso-8859-15', 'latin', 4],
  ['windows-1251', 'cyrillic', 0],
  ['koi8-u', 'cyrillic', 2],
  ['koi8-r', 'cyrillic', 3],
  ['ibm866', 'cyrillic', 2],
  ['x-mac-cyrillic', 'cyrillic', 3],
  ['iso-8859-5', 'cyrillic', 4],
  ['windows-1253', 'greek', 0],
  ['iso-8859-7', 'greek', 1],
  ['shift_jis', 'japanese', 0],
  ['euc-jp', 'japanese', 3],
  ['gb18030', 'simplified', 0],
  ['big5', 'traditional', 1],
  ['euc-kr', 'korean', 1],
]

/** A reading is taken where it is e³ times as likely as all that have other letters. */
const minMargin = 3
/** The least that text is worth for each of its characters above ASCII; less is no text. */
const minWorth = -14

/** Returns the encoding in which lines are the most plausible text, with a rival where another one is as plausible. */
function byLetters(evidence: Evidence): Encoding & { readonly rival?: Reading } {
  const { lines } = evidence
  const readings = candidates
    .flatMap(([label, script, rarity]) => {
      const text = decodeAll(label, lines)
      if (text === undefined) return []
      const worth = worthOf(text, label, script)
      const high = text.replace(/[\0-\x7f]/g, '').length
      return worth < minWorth * high ? [] : [{ label, text, worth: worth - rarity }]
    })
    .sort((a, b) => b.worth - a.worth)
  const [best] = readings
  if (!best) return { label: 'utf-8', mark: 0 }
  const other = readings.find(({ text }) => text !== best.text)
  const found = { label: best.label, mark: 0, sample: firstDifference(lines, best.label, other?.label) }
  if (other && best.worth - other.worth < minMargin)
    return {
      ...found,
      rival: { label: other.label, sample: firstDifference(lines, other.label, best.label) },
    }
  return isAlphabet(best.label) ? { ...found, evidence } : found
}

/** Whether an encoding has a byte for each character, so that any bytes are text. */
const isAlphabet = (label: string): boolean => commonRows[label] === undefined

function decodeAll(label: string, bytes: Buffer): string | undefined {
  try {
    // Node decodes windows-1252 correctly only from a stream.
    const text = new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true })
    return /[\x80-\x9f\ufffd\ue000-\uf8ff]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

const sampleCharacters = 40

/** Returns the first cell that reads differently in another encoding, else the first one with letters above ASCII. */
function firstDifference(lines: Buffer, label: string, other: string | undefined): string {
  const [cells, others] = [label, other].map(
    (one) => (one === undefined ? undefined : decodeAll(one, lines))?.split(/[,;\t|"\r\n]+/) ?? [],
  )
  const at = cells?.findIndex((cell, index) => /[^\0-\x7f]/.test(cell) && cell !== others?.[index]) ?? -1
  return (cells?.[at] ?? '').replace(/^ +| +$/g, '').slice(0, sampleCharacters)
}

/** Returns how plausible text is, as the logarithm of a likelihood. Each word counts once. */
function worthOf(text: string, label: string, script: Script): number {
  const runs = new Set(text.match(/[\p{L}\p{M}]+/gu)?.filter((word) => /[^\0-\x7f]/.test(word)))
  const around = new Set<string>()
  for (const { 0: sign, index } of text.matchAll(/[^\0-\x7f\p{L}\p{M}]/gu))
    around.add(
      text.slice(Math.max(0, index - 6), index).padStart(6) +
        sign +
        text.slice(index + 1, index + 3).padEnd(2),
    )
  const worth = Array.from(around, worthOfSign).reduce((sum, one) => sum + one, 0)
  return (
    worth +
    (script in known.letters
      ? worthOfCharacters(runs, label, script as keyof typeof known.letters)
      : worthOfWords(runs, script))
  )
}

const latin = /[a-z]/i
const otherAlphabet = /\p{Script=Cyrillic}|\p{Script=Greek}/u
const isLower = (char: string): boolean => char !== char.toUpperCase()
const isUpper = (char: string): boolean => char !== char.toLowerCase()

/** Returns what words are worth: those of one text are in few languages. */
function worthOfWords(words: ReadonlySet<string>, script: Script): number {
  const families = modelsOf(script)
  const each = Array.from(words, (word) => families.map((family) => worthOfWord(word.toLowerCase(), family)))
  const bestOf = (values: readonly number[], shares: readonly number[]) =>
    values.map((value, at) => value + Math.log(shares[at] ?? 0))
  let shares = families.map(() => 1 / families.length)
  for (let round = 0; round < 2; round++) {
    const sums = families.map(() => 0.3)
    for (const values of each) {
      const weighted = bestOf(values, shares)
      const total = logSum(weighted)
      weighted.forEach((value, at) => {
        sums[at] = (sums[at] ?? 0) + Math.exp(value - total)
      })
    }
    const all = sums.reduce((sum, one) => sum + one, 0)
    shares = sums.map((sum) => sum / all)
  }
  const shape = Array.from(words, worthOfShape).reduce((sum, one) => sum + one, 0)
  return each.reduce((sum, values) => sum + logSum(bestOf(values, shares)), shape)
}

function logSum(values: readonly number[]): number {
  const most = Math.max(...values)
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0))
}

/** Logarithms for two letters that never follow each other in names, and for a letter that a language lacks. */
const unseenPair = -9
const alienLetter = -11

function worthOfWord(word: string, { pairs, letters }: Model): number {
  const spaced = ` ${word} `
  let worth = 0
  for (let at = 1; at < spaced.length; at++) {
    const [one, two] = [spaced[at - 1] as string, spaced[at] as string]
    if (one < '\x80' && two < '\x80') continue
    const isKnown = [one, two].every((char) => char < '\x80' || letters.has(char))
    worth += pairs.get(one + two) ?? (isKnown ? unseenPair : alienLetter)
  }
  return worth
}

/** Returns what a change of case or script within a word costs. */
function worthOfShape(word: string): number {
  let worth = latin.test(word) && otherAlphabet.test(word) ? -8 : 0
  for (let at = 1; at < word.length; at++) {
    const [before = 'a', one = '', two = ''] = [word[at - 2], word[at - 1], word[at]]
    if (one < '\x80' && two < '\x80') continue
    if (isLower(one) && isUpper(two)) worth -= 9
    if (isUpper(before) && isUpper(one) && isLower(two)) worth -= 8
  }
  return worth
}

/** The logarithm for a sign where none belongs, such as a quotation mark within a word. */
const misplacedSign = -20
const isLetter = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{M}]/u.test(char)
const vowel = /^[aeiouyhàâæéèêëîïôœùû]/i
const elided = /(?:^|[^\p{L}])(?:[dlcjmnsto]|qu|dell|all|sull|nell|dall)$/iu

/** Returns what a sign is worth between the six characters before it and the two behind it. */
function worthOfSign(around: string): number {
  const [before, sign, behind] = [around.slice(0, 6), around[6] ?? '', around.slice(7)]
  const [isAfter, isBefore] = [isLetter(before.at(-1)), isLetter(behind[0])]
  const unless = (isWrong: boolean, worth: number) => (isWrong ? misplacedSign : worth)
  if ('™®'.includes(sign)) return unless(isBefore, -4)
  if (sign === '©') return unless(isAfter || isBefore, -6)
  if ('€£№§'.includes(sign)) return unless(isAfter || isBefore, /\d/.test(around.slice(5, 8)) ? -3 : -6)
  if ('“„«'.includes(sign)) return unless(isAfter, -5)
  if ('”»'.includes(sign)) return unless(isBefore || /\s$/.test(before), -5)
  if (sign === '’' && isAfter && isBefore)
    return unless(!(elided.test(before) && vowel.test(behind)) && !/^s(?:$|[^\p{L}])/u.test(behind), -4)
  if ('‘’'.includes(sign)) return unless(isAfter && isBefore, -7)
  if ('–—'.includes(sign)) return isAfter && isBefore ? -14 : isAfter === isBefore ? -4 : -10
  if (sign === '…' || sign === '•') return unless(isBefore, -6)
  if (sign === '\u00a0') return isAfter && isBefore ? -14 : isAfter || isBefore ? -6 : -4
  if (sign === '·')
    return isAfter === isBefore ? unless(isAfter && !/l·l/i.test(around.slice(5, 8)), -5) : misplacedSign
  if ('°º'.includes(sign)) return unless(isAfter && isBefore, isAfter ? -10 : -6)
  return /[\u3000-\u303f\uff00-\uffef・]/.test(sign) ? -7 : misplacedSign
}

/**
 * Which letters follow each other in names of some languages, as logarithms. `letter-pairs.json` counts them in the names of
 * people in Faker, of cities in GeoNames, of countries and languages in the CLDR, and in words of company names.
 */
type Model = ReturnType<typeof toModel>

const otherScripts: Readonly<Record<string, readonly string[]>> = {
  cyrillic: ['russian', 'serbian'],
  greek: ['greek'],
}
const models = new Map<string, Model>()

function modelsOf(script: Script): readonly Model[] {
  const others = Object.values(otherScripts).flat()
  return Object.entries(known.pairs)
    .filter(([family]) => otherScripts[script]?.includes(family) ?? !others.includes(family))
    .map(([family, levels]) => {
      const made = models.get(family) ?? toModel(levels)
      models.set(family, made)
      return made
    })
}

/** Reads pairs of letters, grouped by the rounded negative logarithm of how often the second one follows the first. */
function toModel(levels: readonly string[]) {
  const pairs = new Map<string, number>()
  levels.forEach((text, level) => {
    for (let at = 0; at < text.length; at += 2) pairs.set(text.slice(at, at + 2), -Math.max(level, 0.3))
  })
  return { pairs, letters: new Set(levels.join('')) }
}

/** First bytes of the characters that a standard of East Asia calls common. */
const commonRows: Readonly<Record<string, readonly [first: number, last: number]>> = {
  shift_jis: [0x88, 0x97],
  'euc-jp': [0xb0, 0xcf],
  gb18030: [0xb0, 0xd7],
  big5: [0xa4, 0xc6],
  'euc-kr': [0xb0, 0xc8],
}
const commonCharacters = new Map<string, ReadonlySet<string>>()

function commonIn(label: string): ReadonlySet<string> {
  const known = commonCharacters.get(label)
  if (known) return known
  const [first, last] = commonRows[label] ?? [0, -1]
  const decoder = new TextDecoder(label)
  const found = new Set<string>()
  for (let one = first; one <= last; one++)
    for (let two = 0x40; two < 0xff; two++) found.add(decoder.decode(Uint8Array.of(one, two)))
  commonCharacters.set(label, found)
  return found
}

/** Returns what the characters of words are worth in an encoding of East Asia. */
function worthOfCharacters(words: ReadonlySet<string>, label: string, script: keyof typeof known.letters) {
  const common = commonIn(label)
  const commonest = known.letters[script]
  let worth = 0
  for (const word of words)
    for (let at = 0; at < word.length; at++) {
      const char = word[at] as string
      if (char < '\x80') continue
      const around = [word[at - 1] ?? '', word[at + 1] ?? '']
      const isAlone = around.every((one) => one < '\x80')
      for (const one of around) if (latin.test(one)) worth -= isAlone ? 8 : 3
      if (/[\uff66-\uff9f]/.test(char)) worth -= around.some((one) => /[\uff66-\uff9f]/.test(one)) ? 6 : 14
      else if (/[\u3041-\u30ff]/.test(char)) worth -= script === 'japanese' ? 4 : 16
      else if (commonest.includes(char)) worth -= 6.3
      else worth -= common.has(char) ? 9.5 : 16
    }
  return worth
}
