import { describe, expect, it } from 'vitest'
import * as field from '../../../src/api/schemas/fields.js'
import { countries, isCountry } from '../../../src/api/values/dates.js'
import { casesOf } from '../../support/fixtures.js'

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success

describe('field schemas', () => {
  it.each(casesOf<[string | number, boolean]>('api/schemas/fields/accept-the-profile-url'))(
    'accept the profile url %j: %s',
    (value, expected) => {
      expect(accepts(field.profileUrl('x'), value)).toBe(expected)
    },
  )

  it('accept a host with accented letters however often one was seen before', () => {
    const many = Array.from({ length: 20_000 }, () => 'https://www.café-méridien.example/hook')
    expect(many.filter((url) => !accepts(field.webhookUrl(), url))).toEqual([])
  })

  it.each([
    ['https://www.network.example/sales/search/people?query=(keywords:x)', true, true],
    ['https://linkedin.com/search/results/people/?keywords=x', true, false],
    ['https://network.example/sales/search/company?query=(keywords:x)', false, false],
    ['network.example/sales/search/people', false, false],
    ['', false, false],
  ])('accept the url of a people search %j: %s, of a premium search: %s', (value, any, premium) => {
    expect(accepts(field.searchUrl('people', 'x'), value)).toBe(any)
    expect(accepts(field.searchUrl('people', 'x', { premium: true }), value)).toBe(premium)
  })

  it.each(casesOf<[string, boolean]>('api/schemas/fields/accept-the-webhook-url'))(
    'accept the webhook url %j: %s',
    (value, expected) => {
      expect(accepts(field.webhookUrl(), value)).toBe(expected)
    },
  )

  const schemas = {
    'phone number': field.phone('x'),
    date: field.date('x'),
    'whole number from 1 to 100': field.whole('x', 1, 100),
    id: field.id('x'),
    industry: field.industry('x'),
  }
  it.each(casesOf<[keyof typeof schemas, unknown, boolean]>('api/schemas/fields/accept'))(
    'accept the %s %j: %s',
    (kind, value, expected) => {
      expect(accepts(schemas[kind], value)).toBe(expected)
    },
  )

  it('accept the 249 countries of ISO 3166-1, and Kosovo', () => {
    const codes = countries.split(' ')
    expect(new Set(codes).size).toBe(250)
    expect(codes.every((code) => /^[A-Z]{2}$/.test(code) && isCountry(code))).toBe(true)
  })

  it.each(['EU', 'UK', 'ZZ', 'D ', 'E A', ''])('refuse the country %j', (code) => {
    expect(isCountry(code)).toBe(false)
  })

  it('keep text in any script', () => {
    expect(field.text('x').parse('株式会社 𝒜 Ünïcode')).toBe('株式会社 𝒜 Ünïcode')
  })
})
