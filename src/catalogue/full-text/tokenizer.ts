import { folds, letters, marks } from './unicode61.js'

/** Cuts texts into words as SQLite's full-text index does: letters and digits, in lower case and without marks. */
export type Words = (text: string) => string[]

const ascii = /^[\0-\x7f]*$/
const plain = /[a-z0-9]+/g

/** Makes what cuts texts into words. What it knows of letters beyond ASCII is read when the first one comes. */
export function wordsOfTexts(): Words {
  let known: ((letter: string) => string | undefined) | undefined
  return (text) => {
    if (ascii.test(text)) return text.toLowerCase().match(plain) ?? []
    known ??= folding()
    return cut(text, known)
  }
}

function cut(text: string, folded: (letter: string) => string | undefined): string[] {
  const words: string[] = []
  let word = ''
  for (const letter of text) {
    const piece = folded(letter)
    if (piece !== undefined) word += piece
    else if (word !== '') {
      words.push(word)
      word = ''
    }
  }
  return word === '' ? words : [...words, word]
}

/** What each letter counts as: a mark for nothing, and what is no letter is undefined. */
function folding(): (letter: string) => string | undefined {
  const [spans, gaps] = [spansOf(letters), spansOf(marks)]
  const others = foldsOf(folds)
  const known = new Map<string, string | undefined>()
  const told = (letter: string): string | undefined => {
    const code = letter.codePointAt(0) ?? 0
    if (code < 128) return /[a-zA-Z0-9]/.test(letter) ? letter.toLowerCase() : undefined
    if (isIn(gaps, code)) return ''
    return isIn(spans, code) ? String.fromCodePoint(others.get(code) ?? code) : undefined
  }
  return (letter) => {
    if (known.has(letter)) return known.get(letter)
    const piece = told(letter)
    known.set(letter, piece)
    return piece
  }
}

type Span = readonly [from: number, to: number]

const numbersIn = (entry: string): number[] => entry.split(':').map((part) => Number.parseInt(part, 36))

function spansOf(table: string): Span[] {
  let at = 0
  return table.split(/\s/).map((entry) => {
    const [distance = 0, count = 1] = numbersIn(entry)
    const from = at + distance
    at = from + count
    return [from, at]
  })
}

function foldsOf(table: string): ReadonlyMap<number, number> {
  const folded = new Map<number, number>()
  let at = 0
  for (const entry of table.split(/\s/)) {
    const [distance = 0, difference = 0, count = 1, step = 1] = numbersIn(entry)
    at += distance
    for (let code = at; code < at + count * step; code += step) folded.set(code, code + difference)
  }
  return folded
}

function isIn(spans: readonly Span[], code: number): boolean {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const [from, to] = spans[middle] as Span
    if (code < from) high = middle
    else if (code >= to) low = middle + 1
    else return true
  }
  return false
}
