import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import * as field from '../../../src/api/schemas/fields.js'
import { coerceField, coerceInput } from '../../../src/api/validation/coerce.js'

describe('converting the text of a field', () => {
  const custom = field.custom()
  const companies = z.array(z.object({ name: z.string() }))

  it.each([
    ['booleans', field.flag('x'), 'true', true],
    ['booleans in capitals', field.live(), 'FALSE', false],
    ['no other word as a boolean', field.flag('x'), 'yes', 'yes'],
    ['no digit as a boolean', field.flag('x'), '1', '1'],
    ['whole numbers', field.whole('x', 1).optional(), '50', 50],
    ['negative numbers', field.number('x'), '-1.5', -1.5],
    ['no empty text as a number', field.whole('x'), '', ''],
    ['no hexadecimal number', field.whole('x'), '0x10', '0x10'],
    ['no number with a leading zero', field.whole('x'), '007', '007'],
    ['no number that cannot be kept', field.whole('x'), '9007199254740993', '9007199254740993'],
    ['no infinite number', field.number('x'), '1e999', '1e999'],
    ['text as it is', field.text('x'), '42', '42'],
    ['an id of digits as text', field.id('x'), '42', '42'],
    ['ids by commas', field.ids('x'), '1, 2,,3', ['1', '2', '3']],
    ['ids repeated', field.ids('x'), ['1', '2,3'], ['1', '2', '3']],
    ['codes by commas', field.countries('x'), 'FR,DE', ['FR', 'DE']],
    ['enum words by commas', field.companySizes(), '1-10,11-50', ['1-10', '11-50']],
    [
      'numbers by commas',
      field.of(field.phone('x'), 'x'),
      '+33612345678, +33612345679',
      ['+33612345678', '+33612345679'],
    ],
    ['industries by id', field.industries('x'), '4,96', ['4', '96']],
    [
      'an industry with a comma in its name',
      field.industries('x'),
      'Technology, Information and Internet',
      ['Technology, Information and Internet'],
    ],
    ['free text with a comma as one item', field.texts('x'), 'Head of Sales, EMEA', ['Head of Sales, EMEA']],
    ['long free text as one item', field.texts('x'), `${'a'.repeat(600)},b`, [`${'a'.repeat(600)},b`]],
    [
      'an address with a comma as one item',
      field.of(field.profileUrl('x'), 'x'),
      'https://a.example/lead/A,B',
      ['https://a.example/lead/A,B'],
    ],
    [
      'addresses by commas',
      field.of(field.profileUrl('x'), 'x'),
      'https://a.example/lead/A,B, https://a.example/in/c',
      ['https://a.example/lead/A,B', 'https://a.example/in/c'],
    ],
    [
      'web domains by commas, and addresses among them',
      field.companies('x'),
      'a.example, www.b-c.example,https://d.example/about',
      ['a.example', 'www.b-c.example', 'https://d.example/about'],
    ],
    ['a name with a comma and a dot as one item', field.companies('x'), 'Acme, Inc.', ['Acme, Inc.']],
    ['the last of several single values', field.whole('x'), ['1', '2'], 2],
    ['an object from JSON', custom, '{"a":{"b":[1]}}', { a: { b: [1] } }],
    [
      'an object from pairs',
      custom,
      ['a=1', 'b=true', 'c=x=y', 'd=', 'e=007'],
      { a: 1, b: true, c: 'x=y', d: '', e: '007' },
    ],
    ['an object from JSON and pairs', custom, ['{"a":1}', 'b=2'], { a: 1, b: 2 }],
    ['no object from other text', custom, 'abc', 'abc'],
    ['no object from broken JSON', custom, '{"a":', '{"a":'],
    ['objects from JSON', companies, '[{"name":"A"},{"name":"B"}]', [{ name: 'A' }, { name: 'B' }]],
    ['objects one by one', companies, ['{"name":"A"}', 'name=B'], [{ name: 'A' }, { name: 'B' }]],
    ['no list of objects from other text', companies, 'A', ['A']],
  ] as const)('reads %s', (_, schema, given, value) => {
    expect(coerceField(schema, given)).toEqual(value)
  })

  it('reads back every number that JSON writes', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true })),
        (number) => {
          const text = JSON.stringify(number)
          const kept = !Number.isInteger(number) || Number.isSafeInteger(number)
          expect(coerceField(field.number('x'), text)).toEqual(kept ? JSON.parse(text) : text)
        },
      ),
    )
  })

  it('never changes free text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(coerceField(field.texts('x'), text)).toEqual([text])
      }),
    )
  })

  it('reads hostile keys without harm', () => {
    const read = coerceField(custom, ['__proto__=1', '{"constructor":2}'])
    expect(Object.keys(read as object)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })
})

describe('converting the texts of an input', () => {
  it('reads a query', async () => {
    const { input } = await shapeOf('searches.get')
    const query = { id: '7', per_page: '50', page: '2', status: 'qualified' }
    expect(coerceInput(input, query)).toEqual({ id: '7', per_page: 50, page: 2, status: 'qualified' })
  })

  it('leaves typed values and unknown fields as they are', async () => {
    const { input } = await shapeOf('accounts.enrich')
    const fields = { live: false, linkedin_url: 'true', name: null }
    expect(coerceInput(input, fields)).toEqual(fields)
  })

  it('reads hostile keys without harm', async () => {
    const { input } = await shapeOf('accounts.enrich')
    const fields = JSON.parse('{"__proto__":"1","constructor":"2","toString":"3"}') as Record<string, string>
    const read = coerceInput(input, fields)
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
    expect(Object.keys(read)).toEqual(['__proto__', 'constructor', 'toString'])
  })
})
