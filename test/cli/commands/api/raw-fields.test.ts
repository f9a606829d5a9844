import { describe, expect, it } from 'vitest'
import { parseFields } from '../../../../src/cli/commands/api/raw-fields.js'

describe('fields of a raw call', () => {
  it('are texts, and what JSON knows where they look like it', () => {
    const pairs = [
      'name=Acme',
      'limit=5',
      'ratio=-1.5',
      'live=false',
      'none=null',
      'custom={"a":1}',
      'ids=[1,2]',
    ]
    expect(parseFields(pairs)).toEqual({
      name: 'Acme',
      limit: 5,
      ratio: -1.5,
      live: false,
      none: null,
      custom: { a: 1 },
      ids: [1, 2],
    })
  })

  it('stay text where a number would lose something', () => {
    expect(parseFields(['id=007', 'phone=+33123', 'big=12345678901234567890'])).toEqual({
      id: '007',
      phone: '+33123',
      big: '12345678901234567890',
    })
  })

  it('become lists when repeated or marked', () => {
    expect(parseFields(['a=1', 'a=2', 'b[]=x', 'c=x=y'])).toEqual({ a: [1, 2], b: ['x'], c: 'x=y' })
  })

  it('harm nothing', () => {
    const fields = parseFields(['__proto__={"polluted":true}'])
    expect(Object.hasOwn(fields, '__proto__')).toBe(true)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it.each(['x', '=1', '', 'custom={a'])('refuse "%s"', (pair) => expect(() => parseFields([pair])).toThrow())
})
