import { describe, expect, it } from 'vitest'
import { parseFields } from '../../../../src/cli/commands/api/api.js'

describe('fields of prospect api', () => {
  it('parses JSON values in fields, and takes everything else as text', () => {
    const pairs = 'name=Acme limit=5 ratio=-1.5 live=false none=null custom={"a":1} ids=[1,2]'.split(' ')
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

  it('keeps numbers as text when they would lose digits', () => {
    expect(parseFields(['id=007', 'phone=+33123', 'big=12345678901234567890'])).toEqual({
      id: '007',
      phone: '+33123',
      big: '12345678901234567890',
    })
  })

  it('builds lists from repeated fields and names that end in []', () => {
    expect(parseFields(['a=1', 'a=2', 'b[]=x', 'c=x=y'])).toEqual({ a: [1, 2], b: ['x'], c: 'x=y' })
  })

  it('does not pollute the prototype of objects', () => {
    const fields = parseFields(['__proto__={"polluted":true}'])
    expect(Object.hasOwn(fields, '__proto__')).toBe(true)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it.each(['x', '=1', '', 'custom={a'])('refuses the field "%s"', (pair) =>
    expect(() => parseFields([pair])).toThrow(),
  )
})
