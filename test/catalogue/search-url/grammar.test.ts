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
  it.each<[string, unknown]>([
    ['()', {}],
    ['(a:1)', { a: '1' }],
    [' ( a : 1 , b : (c:x) ) ', { a: ' 1 ', b: { c: 'x' } }],
    ['(a:List(),b:List(x,y),c:List((d:1),(d:2)))', { a: [], b: ['x', 'y'], c: [{ d: '1' }, { d: '2' }] }],
    ['(a:,b:x)', { a: '', b: 'x' }],
    ['(a:1)&viewAllFilters=true', { a: '1' }],
    ['(keywords:a, b (c:d) e)', { keywords: 'a, b (c:d) e' }],
    ['(keywords:(a OR b),filters:List())', { keywords: '(a OR b)', filters: [] }],
    ['(v:List((text:a, b: c,id:7),(text:d)))', { v: [{ text: 'a, b: c', id: '7' }, { text: 'd' }] }],
    ['(v:List((text:left (open,selectionType:X)))', { v: [{ text: 'left (open', selectionType: 'X' }] }],
    ['(v:List((text:a) right,id:7)))', { v: [{ text: 'a) right', id: '7' }] }],
  ])('is parsed: %s', (text, value) => {
    expect(plain(parseNested(text))).toEqual(value)
  })

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
