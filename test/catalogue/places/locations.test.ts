import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countries } from '../../../src/api/values/dates.js'
import { findLocations, findPlace } from '../../../src/catalogue/places/place.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'

const sources = ['live', 'database', 'hiring'] as const
const contexts = (name: string) => findLocations(name, 'database').map(({ context }) => context)

describe('the first location found', () => {
  it.each(casesOf<[name: string, id: string, context: string]>('catalogue/places/locations/for-is'))(
    'for "%s" is %s (%s)',
    (name, id, context) => {
      expect(findLocations(name, 'database')[0]).toMatchObject({ id, context })
    },
  )
})

describe('locations', () => {
  it('have the fields of their source', () => {
    const [live, database, hiring] = sources.map((source) => findLocations('lyon', source)[0])
    const context = 'Lyon, Auvergne-Rhône-Alpes, France'
    expect(live).toEqual({ id: '202996944', name: context })
    expect(database).toEqual({ id: 'geo:2996944', name: 'Lyon', kind: 'city', context })
    expect(hiring).toEqual({
      id: 'hiring:2996944',
      name: 'Lyon',
      display_name: context,
      country_code: 'FR',
    })
  })

  it('that are countries have their network ids where these are known', () => {
    expect(findLocations('france', 'live')[0]).toEqual({ id: '105015875', name: 'France' })
  })

  it('are 20 at most, without duplicates', () => {
    for (const name of ['a', 'saint', 'san', 'paris', 'springfield']) {
      const ids = findLocations(name, 'database').map(({ id }) => id)
      expect([name, ids.length, new Set(ids).size]).toEqual([name, 20, 20])
    }
  })

  it.each(['york', 'bayern', 'bretagne', 'munch', 'rouge'])(
    'of the name %s come first, then those that begin so, then those with a later word',
    (name) => {
      const ranks = findLocations(name, 'hiring').map(({ id }) => {
        const names = findPlace(id)?.names ?? []
        return names.includes(name) ? 0 : names.some((one) => one.startsWith(name)) ? 1 : 2
      })
      expect(ranks).toEqual([...ranks].sort())
      expect(new Set(ranks).size).toBeGreaterThan(1)
    },
  )

  it('are sorted as country, region, city when they have the same name', () => {
    expect(findLocations('luxembourg', 'database').map(({ kind }) => kind)).toEqual([
      'country',
      'region',
      'city',
    ])
  })

  it('are restricted by the region or country after the comma', () => {
    expect(contexts('springfield, united states').every((one) => one?.endsWith('United States'))).toBe(true)
    expect(contexts('san, chile').length).toBeGreaterThan(3)
    expect(contexts('san, chile').every((one) => one?.endsWith('Chile'))).toBe(true)
    expect(contexts('lyon, texas')).toEqual([])
  })

  it('are an empty list for an unknown name', () => {
    for (const name of ['xyzzyq', '', '  ', '!!!', ',,,', 'Atlantis, France'])
      expect([name, findLocations(name, 'database')]).toEqual([name, []])
  })

  it.each([
    ...["'; DROP TABLE places; --", '"paris" OR 1=1', '%', '_', '*', 'lyon\0', '\u{10ffff}', '\ud800'],
    ...['a'.repeat(10_000), 'a, '.repeat(5_000), 'greater '.repeat(1_000), 'new '.repeat(40)],
  ])('are searched safely for %j', (name) => {
    for (const source of sources) expect(Array.isArray(findLocations(name, source))).toBe(true)
    expect(findLocations('Lyon', 'database')[0]?.id).toBe('geo:2996944')
  })
})

describe('the ids of locations', () => {
  const returned = (name: string) => {
    const wanted = findLocations(name, 'database').map(({ id }) => findPlace(id))
    return sources.map((source) => [
      wanted.map((place) => place && [place.code, place.country]),
      findLocations(name, source)
        .map(({ id }) => findPlace(id))
        .map((place) => place && [place.code, place.country]),
    ])
  }

  it('refer to the same place in every source', () => {
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz') }),
      fc.constantFrom(...countries.split(' ')),
    )
    fc.assert(
      fc.property(name, (text) => {
        for (const [wanted, found] of returned(text)) expect(found).toEqual(wanted)
      }),
      { numRuns: tries(37, 150) },
    )
  })

  it('differ for different places', () => {
    for (const source of sources) {
      const ids = [...'abcdefgh'].flatMap((letter) => findLocations(letter, source).map(({ id }) => id))
      expect(new Set(ids).size).toBeGreaterThan(140)
    }
  })
})
