import { describe, expect, it } from 'vitest'
import { countries } from '../../../src/api/values/dates.js'
import { findPlace, findRegion, parsePlace } from '../../../src/catalogue/places/place.js'
import { casesOf } from '../../support/fixtures.js'

describe('a place', () => {
  it.each([
    'San Jose',
    'springfield us',
    'Greater San Jose Area',
    'San Jose, Costa Rica',
    'Springfield, Ohio',
    'x',
  ])('is the first of all that %s may mean', (text) =>
    expect(findPlace(text)?.code).toBe(parsePlace(text)[0]?.code),
  )

  it.each(casesOf<[string, string | null, string | number | null]>('catalogue/places/place/is-found-by'))(
    'is found by %s',
    (text, kind, code) => {
      const place = findPlace(text)
      expect([place?.kind ?? null, place?.code ?? null]).toEqual([kind, code])
    },
  )

  it.each(casesOf<string>('catalogue/places/place/is-not-found-by'))('is not found by %j', (text) => {
    expect(findPlace(text)).toBeUndefined()
  })

  it('exists for every country code', () => {
    const unknown = countries.split(' ').filter((code) => findPlace(code)?.country !== code)
    expect(unknown).toEqual([])
  })

  it('has its region, its names and its context', () => {
    expect(findPlace('München')).toMatchObject({
      country: 'DE',
      region: 'DE.02',
      name: 'Munich',
      context: 'Munich, Bavaria, Germany',
      names: expect.arrayContaining(['munich', 'munchen']),
    })
  })
})

describe('the region of a city', () => {
  it.each([
    ...casesOf<(string | null)[]>('catalogue/places/place/has-the-region'),
    ['FR', 'x'.repeat(10_000), 'x, '.repeat(10_000), null],
  ])('is derived from country %s, city %s and location %s', (...row) => {
    const [country, city, location, region] = row.map((cell) => cell ?? undefined)
    // The second answer is the remembered one.
    for (const _ of [1, 2]) expect(findRegion(country, city, location)).toBe(region)
  })
})
