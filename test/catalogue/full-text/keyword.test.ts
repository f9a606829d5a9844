import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toFts5 } from '../../../src/catalogue/dialect/sqlite.js'
import { parseKeyword } from '../../../src/catalogue/full-text/keyword.js'
import { toAsciiTokens } from '../../../src/catalogue/full-text/words.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'

/** A keyword as a tree, with the ways to write and to evaluate it. */
type Tree =
  | { readonly words: string }
  | { readonly not: Tree }
  | { readonly and: readonly Tree[] }
  | { readonly or: readonly Tree[] }

const vocabulary = ['ada', 'Bob', 'CEO', 'Zürich', 'café', 'data', '42']
const plain = (text: string): string => text.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')

const words = fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 3 })
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    words.map((some) => ({ words: some.join(' ') })),
    tie('tree').map((one) => ({ not: one })),
    fc.array(tie('tree'), { minLength: 2, maxLength: 3 }).map((all) => ({ and: all })),
    fc.array(tie('tree'), { minLength: 2, maxLength: 3 }).map((all) => ({ or: all })),
  ),
}))

/** Writes a tree with no more parentheses than needed; words of one are not quoted, and AND is left out at times. */
function written(one: Tree, inside: 'or' | 'and' | 'not' = 'or'): string {
  if ('words' in one) return one.words.includes(' ') ? `"${one.words}"` : one.words
  if ('not' in one) return `NOT ${written(one.not, 'not')}`
  if ('and' in one) {
    const text = one.and.map((part) => written(part, 'and')).join(one.and.length === 2 ? ' ' : ' AND ')
    return inside === 'not' ? `(${text})` : text
  }
  const text = one.or.map((part) => written(part, 'or')).join(' OR ')
  return inside === 'or' ? text : `(${text})`
}

function holds(one: Tree, text: readonly string[]): boolean {
  if ('words' in one) return ` ${text.join(' ')} `.includes(` ${plain(one.words)} `)
  if ('not' in one) return !holds(one.not, text)
  if ('and' in one) return one.and.every((part) => holds(part, text))
  return one.or.some((part) => holds(part, text))
}

describe('a keyword', () => {
  const database = new Database(':memory:')
  const find = (keyword: string): number[] => {
    const { texts, negated } = parseKeyword(keyword)
    const sql = `SELECT rowid FROM texts WHERE rowid ${negated ? 'NOT IN' : 'IN'}
      (SELECT rowid FROM texts_words WHERE texts_words MATCH ?)`
    return database.prepare(sql).pluck().all(toFts5(texts)) as number[]
  }
  const has = (keyword: string, text: string): boolean => {
    database.exec('DELETE FROM texts; DELETE FROM texts_words')
    database.prepare('INSERT INTO texts VALUES (1)').run()
    database.prepare('INSERT INTO texts_words (rowid, about) VALUES (1, ?)').run(toAsciiTokens(text))
    return find(keyword).length === 1
  }
  beforeAll(() => {
    database.exec(`CREATE TABLE texts (key INTEGER PRIMARY KEY);
      CREATE VIRTUAL TABLE texts_words USING fts5 (about, content = '', contentless_delete = 1,
        tokenize = 'ascii')`)
  })
  afterAll(() => {
    database.close()
  })

  it('finds what its expression means, on random texts', () => {
    const text = fc.array(fc.constantFrom(...vocabulary), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), tree, (texts, asked) => {
        database.exec('DELETE FROM texts; DELETE FROM texts_words')
        for (const [at, words] of texts.entries()) {
          database.prepare('INSERT INTO texts VALUES (?)').run(at)
          database
            .prepare('INSERT INTO texts_words (rowid, about) VALUES (?, ?)')
            .run(at, toAsciiTokens(words.join(', ')))
        }
        const expected = [...texts.keys()].filter((at) => holds(asked, (texts[at] ?? []).map(plain)))
        expect(find(written(asked))).toEqual(expected)
      }),
      { numRuns: tries(125, 500) },
    )
  })

  it('never produces a query that the database cannot parse, whatever its text', () => {
    const piece = fc.constantFrom(...'AND OR NOT NEAR ( ) " “ a b - * : ^ { +'.split(' '))
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }), (pieces) => {
        const keyword = pieces.join(' ')
        try {
          find(keyword)
        } catch (error) {
          expect(error).toMatchObject({ status: 422, message: expect.stringMatching(/^keyword: /) })
        }
      }),
      { numRuns: tries(250, 1_000) },
    )
  })

  it.each(casesOf<[string, string, boolean]>('catalogue/full-text/keyword/matches'))(
    '%s matches %s: %s',
    (keyword, text, found) => {
      expect(has(keyword, text)).toBe(found)
    },
  )

  it.each(casesOf<[string, string]>('catalogue/full-text/keyword/is-refused'))(
    'is refused: %s',
    (keyword, reason) => {
      expect(() => parseKeyword(keyword)).toThrow(`keyword: ${reason}`)
    },
  )

  it('is accepted up to the greatest length', () => {
    expect(has(Array.from({ length: 1_000 }, () => 'a').join(' OR '), 'a')).toBe(true)
    expect(has(`${'NOT '.repeat(1_200)}a`, 'a')).toBe(true)
  })
})
