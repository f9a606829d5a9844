import { expect, it } from 'vitest'
import { createVectorWriter, toTsquery } from '../../../src/catalogue/dialect/postgres.js'
import { phrase } from '../../../src/catalogue/full-text/keyword.js'

it.each(["' | 'x", '\\', "a'b\\c", '!&|():*', '\u0000'])(
  'a tsquery of %j contains no character that could end a word',
  (words) => {
    // Every second piece stands between quotation marks.
    for (const [at, piece] of toTsquery('companies', phrase(words).texts).split("'").entries())
      expect(piece).toMatch(at % 2 === 1 ? /^(?:[01][a-z]+|!)$/ : /^[()| <>-]*$/)
  },
)

it('a text vector is truncated where PostgreSQL would refuse it', () => {
  const vector = createVectorWriter('people')
  const places = (text: string) => text.match(/[:,]\d+/g)?.length ?? 0
  expect(places(vector(['same '.repeat(20_000)]))).toBe(16_383)
  expect(vector(['x'.repeat(5_000)]).length).toBeLessThan(600)
  const long = vector([Array.from({ length: 16_000 }, (_, at) => `${at}${'é'.repeat(100)}`).join(' ')])
  expect(Buffer.byteLength(long)).toBeLessThan(1_500_000)
  expect(places(long)).toBeGreaterThan(3_000)
})
