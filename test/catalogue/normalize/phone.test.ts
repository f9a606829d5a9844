import * as fc from 'fast-check'
import examples from 'libphonenumber-js/examples.mobile.json' with { type: 'json' }
import {
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'
import { describe, expect, it } from 'vitest'
import { readSample } from '../../../src/catalogue/sample/sample.js'
import { describePhone, readPhone, toE164 } from '../../../src/identity/phone.js'
import { anyCodePoint } from '../../support/any-text.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'

describe('a phone number in a file', () => {
  it.each(casesOf<[string, string | null, string]>('catalogue/normalize/phone/from-is'))(
    '%s from %s is %s',
    (words, country, number) => {
      expect(readPhone(words, country ?? undefined)).toBe(number)
    },
  )

  it.each(casesOf<[string, string | null]>('catalogue/normalize/phone/is-rejected'))(
    '%s from %s is rejected with an example of a valid one',
    (words, country) => {
      const read = () => readPhone(words, country ?? undefined)
      expect(read).toThrow(expect.objectContaining({ code: 'record.invalid' }))
      expect(read).toThrow(/must be in E\.164, such as \+33612345678/)
    },
  )

  it.each([undefined, null, '', ' '])('may be missing: %j', (value) => {
    expect(readPhone(value, 'FR')).toBeUndefined()
  })

  it('stays as it is in E.164, except for a national prefix and what is no area code of North America', () => {
    const number = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.stringMatching(/^[1-9]{6,14}$/))
      .map(([first, rest]) => `+${first}${first === 1 ? rest.replace(/^1/, '2') : rest}`)
      // An 8 behind Russia's 7 is its national prefix, where the number is one digit too long.
      .filter((one) => !/^\+78\d{10}$/.test(one))
    fc.assert(fc.property(number, (one) => toE164(one) === one))
  })

  it('keeps a zero behind a calling code only where the numbering plan has it', () => {
    const written = getCountries().map(
      (country) =>
        `+${getCountryCallingCode(country)}0${getExampleNumber(country, examples)?.nationalNumber}`,
    )
    const planned = written.map((number) => parsePhoneNumberFromString(number)?.number ?? number)
    const isPossible = (number: string) => /^\+[1-9]\d{6,14}$/.test(number)
    expect(written.map((number) => toE164(number))).toEqual(
      planned.map((number) => (isPossible(number) ? number : undefined)),
    )
  })

  it('is in E.164 or undefined, whatever the text', () => {
    const text = fc.oneof(fc.string({ unit: anyCodePoint }), fc.stringMatching(/^[+()\d /.-]{0,24}$/))
    const country = fc.constantFrom(undefined, 'FR', 'US', 'XX', 'fr', '')
    fc.assert(
      fc.property(text, country, (words, code) => {
        const number = toE164(words, code)
        if (number !== undefined) expect(number).toMatch(/^\+[1-9]\d{6,14}$/)
      }),
      { numRuns: tries(50, 500) },
    )
  })
})

describe('a phone number', () => {
  // One row for each kind and many countries, by the numbering plans of their regulators; at the end those that are
  // reserved for fiction, and those in no numbering plan.
  it.each(casesOf<[string, string, string | null]>('catalogue/normalize/phone/is-a-number-of'))(
    '%s is a %s number of %s',
    (number, type, country_code) => {
      expect(describePhone(number)).toEqual({ number, type, country_code })
    },
  )

  it('has a type and the right country wherever the sample has one', () => {
    const { companies, people } = readSample(0)
    const written = [...companies, ...people].flatMap(({ phone, phones = [phone], country }) =>
      (phones as unknown[]).flatMap((number) => (number === undefined ? [] : [[String(number), country]])),
    )
    // Each number is one of few ranges.
    const ranges = new Map(
      written.map(([number, country]) => [String(number).slice(0, 7), [number, country]]),
    )
    expect(ranges.size).toBeGreaterThan(10)
    for (const [number, country] of ranges.values()) {
      const detail = describePhone(String(number))
      expect(detail).toMatchObject({ country_code: country })
      expect(['mobile', 'fixed_line', 'fixed_or_mobile']).toContain(detail.type)
    }
  })
})
