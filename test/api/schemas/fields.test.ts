import { describe, expect, it } from 'vitest'
import * as list from '../../../src/api/schemas/fields.js'
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
    ['https://network.example/in/ada', false, false],
    ['https://a.example/sales/search/people?query=(keywords:x)', false, false],
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

  it.each([
    ['+33612345678', true],
    ['+1 212 555 0100', false],
    ['0033612345678', false],
    ['+0123456789', false],
    ['+1234567890123456', false],
  ])('accept the phone number %j: %s', (value, expected) => {
    expect(accepts(field.phone('x'), value)).toBe(expected)
  })

  it.each([
    ['2024-02-29', true],
    ['2023-02-29', false],
    ['2026-13-01', false],
    ['2026-1-1', false],
    ['01/02/2026', false],
    ['2026-01-01T00:00:00Z', false],
  ])('accept the date %j: %s', (value, expected) => {
    expect(accepts(field.date('x'), value)).toBe(expected)
  })

  it('accept the 249 countries of ISO 3166-1, and Kosovo', () => {
    const codes = countries.split(' ')
    expect(new Set(codes).size).toBe(250)
    expect(codes.every((code) => /^[A-Z]{2}$/.test(code) && isCountry(code))).toBe(true)
  })

  it.each(['EU', 'UK', 'ZZ', 'D ', 'E A', ''])('refuse the country %j', (code) => {
    expect(isCountry(code)).toBe(false)
  })

  it.each([
    [1, true],
    [100, true],
    [0, false],
    [101, false],
    [1.5, false],
    ['1', false],
    [Number.NaN, false],
    [2 ** 60, false],
  ])('accept a whole number from 1 to 100 %j: %s', (value, expected) => {
    expect(accepts(field.whole('x', 1, 100), value)).toBe(expected)
  })

  it.each([
    ['105015875', true],
    ['db:city:2996944', true],
    ['a b', false],
    ['a,b', false],
    ['', false],
  ])('accept the id %j: %s', (value, expected) => {
    expect(accepts(field.id('x'), value)).toBe(expected)
  })

  it.each([
    ['4', true],
    ['Software Development', true],
    ['Éducation', true],
    ['4,96', false],
  ])('accept the industry %j: %s', (value, expected) => {
    expect(accepts(field.industry('x'), value)).toBe(expected)
  })

  it('trim and bound texts', () => {
    expect(field.text('x', 3).parse(' abc ')).toBe('abc')
    expect(accepts(field.text('x', 3), 'abcd')).toBe(false)
  })

  it('keep text in any script', () => {
    expect(field.text('x').parse('株式会社 𝒜 Ünïcode')).toBe('株式会社 𝒜 Ünïcode')
  })

  it('bound lists', () => {
    expect(accepts(list.of(field.text('x'), 'x', 2), ['a', 'b'])).toBe(true)
    expect(accepts(list.of(field.text('x'), 'x', 2), ['a', 'b', 'c'])).toBe(false)
    expect(accepts(list.some(field.text('x'), 'x'), [])).toBe(false)
  })

  it('keep their description through optional, default and checks', () => {
    expect(field.text('Words').description).toBe('Words')
    expect(field.flag('Loud').unwrap().description).toBe('Loud')
    expect(list.functions().description).toContain('Functions')
  })

  it('measure the depth of JSON', () => {
    expect(field.isShallow({ a: [{ b: 1 }] }, 3)).toBe(true)
    expect(field.isShallow({ a: [{ b: 1 }] }, 2)).toBe(false)
    expect(field.isShallow(1, 0)).toBe(true)
  })
})
