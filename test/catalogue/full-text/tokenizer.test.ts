import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { createTokenizer } from '../../../src/catalogue/full-text/keyword.js'
import { tries } from '../../support/effort.js'

/** The words that SQLite makes of texts. */
function asked(texts: readonly string[]): string[][] {
  const database = new Database(':memory:')
  database.exec(`CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE words USING fts5vocab (texts, instance); BEGIN`)
  const insert = database.prepare('INSERT INTO texts (rowid, text) VALUES (?, ?)')
  texts.forEach((text, at) => void insert.run(at, text))
  const found: string[][] = texts.map(() => [])
  for (const row of database.prepare('SELECT doc, term FROM words ORDER BY doc, offset').iterate()) {
    const { doc, term } = row as { doc: number; term: string }
    found[doc]?.push(term)
  }
  database.close()
  return found
}

it('the tokenizer returns the same words as SQLite for every character', () => {
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
  const words = createTokenizer()
  expect(texts.map(words)).toEqual(asked(texts))
})

it.each([
  'Zürich',
  'Zu\u0308rich \u0301alone',
  'STRASSE Straße ΣΊΣΥΦΟΣ İstanbul ŒUVRE ǅ',
  "C++ c# l'eau d’été R&D 3.14 x_y",
  '東京都 データ 😀 a😀b \ud83d half',
  'ﬁ ª º ① Ⅻ ½',
])('the tokenizer returns the same words as SQLite for %j', (text) => {
  expect(createTokenizer()(text)).toEqual(asked([text])[0])
})
