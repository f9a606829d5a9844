import { describe, expect, it } from 'vitest'
import { createVectorWriter, toTsquery } from '../../src/catalogue/dialect/postgres.js'
import { toFts5 } from '../../src/catalogue/dialect/sqlite.js'
import {
  allOf,
  anyOf,
  beginning,
  createTokenizer,
  negate,
  parseKeyword,
  phrase,
  within,
} from '../../src/catalogue/full-text/keyword.js'

describe('a text query', () => {
  it('is formatted for FTS5', () => {
    const { texts } = parseKeyword('"head of" (sales OR "say ""hi""") NOT Zürich')
    expect(toFts5(texts)).toContain('"head of"')
    const some = within(
      ['name', 'title'],
      allOf([phrase('a "b"'), anyOf([phrase('c'), phrase('c')]), negate(phrase('d'))]),
    )
    expect(toFts5(some.texts)).toBe('({name title} : (("a ""b""" AND "c") NOT "d"))')
    expect(toFts5(within(['title'], beginning('stage')).texts)).toBe('({title} : ^ "stage")')
  })

  it('is formatted as a tsquery, each word with the number of its column', () => {
    const { texts } = within(['title'], allOf([phrase('Head  of'), negate(phrase('Zürich'))]))
    expect(toTsquery('people', texts)).toBe("((('1head' <-> '1of')) & !(('1zurich')))")
    expect(toTsquery('companies', phrase('x').texts)).toBe("(('0x') | ('1x'))")
    expect(toTsquery('jobs', within(['title'], beginning('Stage')).texts)).toBe("(('0^stage'))")
  })

  it('contains no character that could end a word', () => {
    for (const words of ["' | 'x", '\\', "a'b\\c", '!&|():*', '\u0000']) {
      const query = toTsquery('companies', phrase(words).texts)
      // Every second piece stands between quotation marks.
      for (const [at, piece] of query.split("'").entries())
        expect(piece).toMatch(at % 2 === 1 ? /^(?:[01][a-z]+|!)$/ : /^[()| <>-]*$/)
    }
  })

  it('is truncated where PostgreSQL would refuse it', () => {
    const vector = createVectorWriter('people', createTokenizer())
    const places = (text: string) => text.match(/[:,]\d+/g)?.length ?? 0
    expect(places(vector(['same '.repeat(20_000)]))).toBe(16_383)
    expect(vector(['x'.repeat(5_000)]).length).toBeLessThan(600)
    const long = vector([Array.from({ length: 16_000 }, (_, at) => `${at}${'é'.repeat(100)}`).join(' ')])
    expect(Buffer.byteLength(long)).toBeLessThan(1_500_000)
    expect(places(long)).toBeGreaterThan(3_000)
  })
})
