import { type TextTable, textColumns } from './text-columns.js'
import type { Texts } from './text-query.js'
import { type Words, wordsOfTexts } from './tokenizer.js'

// One vector holds the words of all columns, each behind the number of its column: so that one index answers for them all,
// and a phrase never goes from one column to the next. Words that a column begins with are there a second time, marked.

/** Bytes of a vector at most, positions in it, and letters of a word: PostgreSQL refuses more. */
const mostBytes = 1_000_000
const mostPositions = 16_383
const mostLetters = 500

/** A word that no vector holds. */
const nothing = "'!'"

/** Texts that are asked for, in the words of a tsquery. */
export function written(table: TextTable, texts: Texts): string {
  const words = wordsOfTexts()
  const all = textColumns[table].map((_, at) => at)
  const write = (some: Texts, columns: readonly number[]): string => {
    if ('phrase' in some) return next(words(some.phrase), columns, '')
    if ('beginning' in some) return next(words(some.beginning), columns, '^')
    if ('all' in some) return `(${some.all.map((one) => write(one, columns)).join(' & ')})`
    if ('any' in some) return `(${some.any.map((one) => write(one, columns)).join(' | ')})`
    if ('held' in some) return `(${write(some.held, columns)} & !${write(some.butNot, columns)})`
    return write(
      some.hold,
      columns.filter((at) => some.columns.includes(textColumns[table][at] ?? '')),
    )
  }
  return write(texts, all)
}

/** Words next to each other in one of some columns. */
function next(words: readonly string[], columns: readonly number[], mark: string): string {
  if (words.length === 0) return nothing
  const inOne = (column: number) =>
    words.map((word, at) => lexeme(column, at === 0 ? mark : '', word)).join(' <-> ')
  return `(${columns.map((column) => `(${inOne(column)})`).join(' | ')})`
}

/** A word of a column. Words hold letters and digits alone; what is quoted is quoted well all the same. */
const lexeme = (column: number, mark: string, word: string): string =>
  `'${column}${mark}${word.slice(0, mostLetters).replace(/['\\]/g, '$&$&')}'`

/** Makes the vectors of a table's texts. */
export function vectorsOf(table: TextTable, words: Words): (texts: readonly string[]) => string {
  const marksBeginning = table === 'jobs'
  return (texts) => {
    const positions = new Map<string, string>()
    let bytes = 0
    const add = (lexeme: string, position: number): boolean => {
      const known = positions.get(lexeme)
      bytes += known === undefined ? Buffer.byteLength(lexeme) + 8 : 2
      if (bytes > mostBytes) return false
      positions.set(lexeme, known === undefined ? `${position}` : `${known},${position}`)
      return true
    }
    for (const [column, text] of texts.entries())
      for (const [at, word] of words(text).entries()) {
        if (at === mostPositions || !add(lexeme(column, '', word), at + 1)) break
        if (at === 0 && marksBeginning) add(lexeme(column, '^', word), 1)
      }
    let vector = ''
    for (const [word, places] of positions) vector += `${word}:${places} `
    return vector
  }
}
