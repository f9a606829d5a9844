import { describe, expect, it } from 'vitest'
import { type Nested, parseNested } from '../../../src/catalogue/search-url/grammar.js'
import { casesOf } from '../../support/fixtures.js'

/** Maps as arrays of their entries, to be compared at a glance. */
const plain = (value: Nested): unknown =>
  typeof value === 'string'
    ? value
    : value instanceof Map
      ? Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]))
      : [...(value as readonly Nested[])].map(plain)

describe('the nested notation', () => {
  it.each(casesOf<[string, unknown]>('catalogue/search-url/grammar/is-parsed'))(
    'is parsed: %s',
    (text, value) => {
      expect(plain(parseNested(text))).toEqual(value)
    },
  )

  it.each(casesOf<string>('catalogue/search-url/grammar/is-refused-when-it'))(
    'is refused when it is broken: %j',
    (text) => {
      expect(() => parseNested(text)).toThrow(expect.objectContaining({ code: 'field.broken_query' }))
    },
  )

  it('may be nested twenty levels deep, and no deeper', () => {
    const nested = (levels: number) => `${'(a:'.repeat(levels)}x${')'.repeat(levels)}`
    expect(plain(parseNested(nested(20)))).toBeTypeOf('object')
    expect(() => parseNested(nested(22))).toThrow(expect.objectContaining({ code: 'field.broken_query' }))
  })
})
