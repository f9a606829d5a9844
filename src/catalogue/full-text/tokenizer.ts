import unicode61 from './unicode61.json' with { type: 'json' }

/** Cuts texts into words as SQLite's full-text index does: letters and digits, in lower case and without marks. */
export type Tokenizer = (text: string) => string[]

const ascii = /^[\0-\x7f]*$/
const plain = /[a-z0-9]+/g

/** Creates a tokenizer. Its tables of letters beyond ASCII are parsed when the first one comes. */
export function createTokenizer(): Tokenizer {
  let known: ((letter: string) => string | undefined) | undefined
  return (text) => {
    if (ascii.test(text)) return text.toLowerCase().match(plain) ?? []
    known ??= createFolding()
    return splitWords(text, known)
  }
}

function splitWords(text: string, foldLetter: (letter: string) => string | undefined): string[] {
  const words: string[] = []
  let word = ''
  for (const letter of text) {
    const piece = foldLetter(letter)
    if (piece !== undefined) word += piece
    else if (word !== '') {
      words.push(word)
      word = ''
    }
  }
  return word === '' ? words : [...words, word]
}

/** Returns a function that folds a letter: a mark becomes empty, and a separator `undefined`. */
function createFolding(): (letter: string) => string | undefined {
  const [spans, gaps] = [parseSpans(unicode61.letters), parseSpans(unicode61.marks)]
  const others = parseFolds(unicode61.folds)
  const known = new Map<string, string | undefined>()
  const foldOnce = (letter: string): string | undefined => {
    const code = letter.codePointAt(0) ?? 0
    if (code < 128) return /[a-zA-Z0-9]/.test(letter) ? letter.toLowerCase() : undefined
    if (isIn(gaps, code)) return ''
    return isIn(spans, code) ? String.fromCodePoint(others.get(code) ?? code) : undefined
  }
  return (letter) => {
    if (known.has(letter)) return known.get(letter)
    const piece = foldOnce(letter)
    known.set(letter, piece)
    return piece
  }
}

// `unicode61.json` says what SQLite's tokenizer of that name, with `remove_diacritics 2`, makes of each character beyond
// ASCII; a test compares all of them. `letters` make words, and `marks` within words are ignored: both are entries
// `distance:count`. `folds` are letters that stand for others: `distance:difference:count:step`. Numbers have base 36. A
// distance counts from the end of the entry before; in `folds`, from its beginning.

type CodeRange = readonly [from: number, to: number]

const parseEntries = (lines: readonly string[]): number[][] =>
  lines
    .flatMap((line) => line.split(' '))
    .map((entry) => entry.split(':').map((part) => Number.parseInt(part, 36)))

function parseSpans(lines: readonly string[]): CodeRange[] {
  let at = 0
  return parseEntries(lines).map(([distance = 0, count = 1]) => {
    const from = at + distance
    at = from + count
    return [from, at]
  })
}

function parseFolds(lines: readonly string[]): ReadonlyMap<number, number> {
  const folded = new Map<number, number>()
  let at = 0
  for (const [distance = 0, difference = 0, count = 1, step = 1] of parseEntries(lines)) {
    at += distance
    for (let code = at; code < at + count * step; code += step) folded.set(code, code + difference)
  }
  return folded
}

function isIn(spans: readonly CodeRange[], code: number): boolean {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const [from, to] = spans[middle] as CodeRange
    if (code < from) high = middle
    else if (code >= to) low = middle + 1
    else return true
  }
  return false
}
