import { describe, expect, it } from 'vitest'
import { createCountryNormalizer, toCountryCode } from '../../../src/catalogue/normalize/country.js'
import { casesOf } from '../../support/fixtures.js'

describe('a country code', () => {
  it.each(casesOf<[string, string]>('catalogue/normalize/country/of-is'))('of %s is %s', (text, code) => {
    expect(toCountryCode(text)).toBe(code)
  })

  it.each(['', 'ZZ', 'XXX', 'Atlantis', 'constructor', '33'])('does not exist for "%s"', (text) => {
    expect(toCountryCode(text)).toBeUndefined()
  })

  it('replaces a name of a country in a record, and leaves other text alone', () => {
    const coded = createCountryNormalizer()
    expect(coded({ country: 'Spain', name: 'x' })).toEqual({ country: 'ES', name: 'x' })
    expect(coded({ country: 'Spain' })).toEqual({ country: 'ES' })
    expect(coded({ country_code: 'Suède' })).toEqual({ country_code: 'SE' })
    expect(coded({ country: 'Atlantis' })).toEqual({ country: 'Atlantis' })
  })
})
