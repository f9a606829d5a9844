import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPhone, toE164 } from '../../../src/catalogue/normalize/phone.js'
import { InvalidRecordError } from '../../../src/catalogue/normalize/readers.js'

describe('a number in a file', () => {
  it.each<[string, string | undefined, string]>([
    ['+33639981234', undefined, '+33639981234'],
    ['+33 6 39 98 12 34', undefined, '+33639981234'],
    ["'+33639981234", undefined, '+33639981234'],
    ['+33\u00a06.39.98-12/34', undefined, '+33639981234'],
    ['+33 (0)6 39 98 12 34', undefined, '+33639981234'],
    ['+33 06 39 98 12 34', undefined, '+33639981234'],
    ['+44 (0)7700 900-321', undefined, '+447700900321'],
    ['0044 7700 900322', undefined, '+447700900322'],
    ['00 49 (0) 171 3920012', 'FR', '+491713920012'],
    ['+39 06 1234 5678', undefined, '+390612345678'],
    ['+225 01 23 45 67 89', undefined, '+2250123456789'],
    ['+33 7 39 98 12 34', 'US', '+33739981234'],
    ['06 39 98 12 34', 'FR', '+33639981234'],
    ['(617) 555-0142', 'US', '+16175550142'],
    ['1 617 555 0142', 'CA', '+16175550142'],
    ['011 44 7700 900123', 'US', '+447700900123'],
    ['030/23125123', 'DE', '+493023125123'],
    ['06 1234 5678', 'IT', '+390612345678'],
    ['8 (912) 345-67-89', 'RU', '+79123456789'],
    ['090-1234-5678', 'JP', '+819012345678'],
    ['+1 212 555 0101 ext. 5', undefined, '+12125550101'],
    ['+999 123 456 789', undefined, '+999123456789'],
  ])('%s from %s is %s', (words, country, number) => {
    expect(readPhone(words, country)).toBe(number)
  })

  it.each([
    ['06 39 98 12 34', undefined],
    ['06 39 98 12 34', 'AQ'],
    ['555-0142', 'US'],
    ['12 34 56', 'FR'],
    ['06 39 98 12 34 / 06 39 98 12 35', 'FR'],
    ['ask the front desk', 'FR'],
    ['+33', undefined],
    ['+33 6 39 98 12 34 56 78 90', undefined],
  ])('%s from %s is refused with an example of what to give', (words, country) => {
    expect(() => readPhone(words, country)).toThrow(InvalidRecordError)
    expect(() => readPhone(words, country)).toThrow(/must be in E\.164, such as \+33612345678/)
  })

  it.each([undefined, null, '', ' '])('may be missing: %j', (value) => {
    expect(readPhone(value, 'FR')).toBeUndefined()
  })

  it('stays as it is once it is in E.164, but for a prefix of national calls', () => {
    const number = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.stringMatching(/^[1-9]{6,14}$/))
      .map(([first, rest]) => `+${first}${rest}`)
    fc.assert(fc.property(number, (one) => toE164(one) === one))
  })

  it('is in E.164 or nothing, whatever the text', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[+()\d /.-]{0,24}$/))
    const country = fc.constantFrom(undefined, 'FR', 'US', 'XX', 'fr', '')
    fc.assert(
      fc.property(text, country, (words, code) => {
        const number = toE164(words, code)
        if (number !== undefined) expect(number).toMatch(/^\+[1-9]\d{6,14}$/)
      }),
      { numRuns: 500 },
    )
  })
})
