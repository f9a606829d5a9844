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

  it.each([
    ['geo:FR', 'country', 'FR'],
    ['hiring:FR', 'country', 'FR'],
    ['105015875', 'country', 'FR'],
    ['FR', 'country', 'FR'],
    ['fr', 'country', 'FR'],
    ['Frankreich? no: France', undefined, undefined],
    ['France', 'country', 'FR'],
    ['Allemagne', 'country', 'DE'],
    ['103644278', 'country', 'US'],
    ['geo:FR.84', 'region', 'FR.84'],
    ['hiring:FR.84', 'region', 'FR.84'],
    ['Auvergne-Rhône-Alpes', 'region', 'FR.84'],
    ['Texas', 'region', 'US.TX'],
    ['geo:2996944', 'city', 2996944],
    ['hiring:2996944', 'city', 2996944],
    ['202996944', 'city', 2996944],
    ['Lyon', 'city', 2996944],
    ['Paris, France', 'city', 2988507],
    ['Paris, Texas, United States', 'city', 4717560],
    ['Greater Lyon Area', 'city', 2996944],
  ])('is found by %s', (text, kind, code) => {
    const place = findPlace(text)
    expect([place?.kind, place?.code]).toEqual([kind, code])
  })

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
      city: 'munich',
      name: 'Munich',
      context: 'Munich, Bavaria, Germany',
      names: expect.arrayContaining(['munich', 'munchen']),
    })
  })
})

describe('the region of a city', () => {
  it.each<[string | undefined, string | undefined, string | undefined, string | undefined]>([
    ['FR', 'Lyon', undefined, 'FR.84'],
    ['FR', 'lyon', undefined, 'FR.84'],
    ['DE', 'München', undefined, 'DE.02'],
    ['CA', 'Montréal', undefined, 'CA.10'],
    ['US', 'Paris', undefined, 'US.TX'],
    ['US', 'Paris', 'Paris, Illinois, United States', 'US.IL'],
    ['US', 'Paris', 'Paris, United States', 'US.TX'],
    ['US', 'Paris', 'somewhere', 'US.TX'],
    ['FR', 'Lyon', 'Lyon, Texas', 'FR.84'],
    ['FR', 'Nowhere', undefined, undefined],
    ['FR', 'Nowhere', 'Nowhere, Occitanie, France', 'FR.76'],
    ['FR', undefined, 'Greater Lyon Area', 'FR.84'],
    ['FR', undefined, 'France', undefined],
    ['FR', undefined, 'Paris, Texas', undefined],
    [undefined, undefined, 'Bavaria, Germany', 'DE.02'],
    [undefined, 'Lyon', undefined, undefined],
    ['XX', 'Lyon', undefined, undefined],
    [undefined, undefined, undefined, undefined],
    ['FR', '', '', undefined],
    ['FR', "'; DROP TABLE places; --", '"', undefined],
    ['FR', 'x'.repeat(10_000), 'x, '.repeat(10_000), undefined],
  ])('is derived from country %s, city %s and location %s', (country, city, location, region) => {
    expect(findRegion(country, city, location)).toBe(region)
    // The second answer is the remembered one.
    expect(findRegion(country, city, location)).toBe(region)
  })
})
