import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import * as field from '../../../src/api/schemas/fields.js'
import { coerceField, coerceInput } from '../../../src/api/validation/coerce.js'
import { casesOf } from '../../support/fixtures.js'

describe('converting the text of a field', () => {
  const custom = field.custom()
  const schemas: Readonly<Record<string, z.ZodType>> = {
    flag: field.flag('x'),
    live: field.live(),
    whole: field.whole('x', 1).optional(),
    number: field.number('x'),
    text: field.text('x'),
    id: field.id('x'),
    ids: field.ids('x'),
    phones: field.of(field.phone('x'), 'x'),
    industries: field.industries('x'),
    texts: field.texts('x'),
    profiles: field.of(field.profileUrl('x'), 'x'),
    websites: field.companies('x'),
    custom,
    companies: z.array(z.object({ name: z.string() })),
  }

  it.each(casesOf<[string, string, string | string[], unknown]>('api/validation/coerce'))(
    'reads %s',
    (_, name, given, value) => {
      expect(coerceField(schemas[name] ?? z.never(), given)).toEqual(value)
    },
  )

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
