import { describe, expect, it } from 'vitest'
import { toCountryCode } from '../../../src/identity/country.js'
import { casesOf } from '../../support/fixtures.js'

describe('a country code', () => {
  it.each(casesOf<[string, string]>('catalogue/normalize/country/of-is'))('of %s is %s', (text, code) => {
    expect(toCountryCode(text)).toBe(code)
  })

  it.each(['', 'ZZ', 'XXX', 'Atlantis', 'constructor', '33'])('does not exist for "%s"', (text) => {
    expect(toCountryCode(text)).toBeUndefined()
  })
})
