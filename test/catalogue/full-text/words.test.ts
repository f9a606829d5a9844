import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { toAsciiTokens, wordsOf } from '../../../src/catalogue/full-text/words.js'
import { tries } from '../../support/effort.js'

/** The words that SQLite finds texts by. */
function indexed(texts: readonly string[]): string[][] {
  const database = new Database(':memory:')
  database.exec(`CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', tokenize = 'ascii');
    CREATE VIRTUAL TABLE words USING fts5vocab (texts, instance); BEGIN`)
  const insert = database.prepare('INSERT INTO texts (rowid, text) VALUES (?, ?)')
  texts.forEach((text, at) => void insert.run(at, toAsciiTokens(text)))
  const found: string[][] = texts.map(() => [])
  for (const row of database.prepare('SELECT doc, term FROM words ORDER BY doc, offset').iterate()) {
    const { doc, term } = row as { doc: number; term: string }
    found[doc]?.push(term)
  }
  database.close()
  return found
}

it('SQLite indexes the words that PostgreSQL is given, whatever characters they have', () => {
  const all = Array.from({ length: 0x110000 }, (_, code) => code).filter(
    // Beyond the third plane one character in a hundred will do; without --long, one in 37 beyond the first scripts.
    (code) =>
      code > 0 &&
      (code < 0xd800 || code > 0xdfff) &&
      (code < tries(0x3000, 0x32000) || code % tries(37, 101) === 0),
  )
  // Each between two letters; and many in a text, to be told fast.
  const texts: string[] = []
  for (let at = 0; at < all.length; at += 256)
    texts.push(
      all
        .slice(at, at + 256)
        .map((code) => `a${String.fromCodePoint(code)}b`)
        .join(' '),
    )
  expect(texts.map(wordsOf)).toEqual(indexed(texts))
})

it.each([
  ['Zürich', ['zurich']],
  ['Zu\u0308rich \u0301alone', ['zurich', 'alone']],
  [
    'STRASSE Straße ΣΊΣΥΦΟΣ İstanbul ŒUVRE Łódź',
    ['strasse', 'strasse', 'σισυφοσ', 'istanbul', 'oeuvre', 'lodz'],
  ],
  ["C++ c# l'eau d’été R&D 3.14 x_y", ['c', 'c', 'l', 'eau', 'd', 'ete', 'r', 'd', '3', '14', 'x', 'y']],
  ['東京都 データ ﾃﾞｰﾀ 😀 a😀b \ud83d half', ['東京都', 'データ', 'データ', 'a', 'b', 'half']],
  ['ﬁ ª ① Ⅻ so\u00adft', ['fi', 'a', '1', 'xii', 'soft']],
  ['हिन्दी ไทย 한국어', ['हिन्दी', 'ไทย', '한국어']],
])('the words of %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words)
  expect(indexed([text])[0]).toEqual(words)
})
