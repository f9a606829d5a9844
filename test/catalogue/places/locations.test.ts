import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countries } from '../../../src/api/values/dates.js'
import { findLocations, findPlace } from '../../../src/catalogue/places/place.js'
import { tries } from '../../support/effort.js'

const sources = ['live', 'database', 'hiring'] as const
const contexts = (name: string) => findLocations(name, 'database').map(({ context }) => context)

describe('the first location found', () => {
  it.each<[name: string, id: string, context: string]>([
    ['Lyon', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['lyon', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['  LYON  ', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['lyon france', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['Lyon, France', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['Lyon, Rhône, Auvergne-Rhône-Alpes, France', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['Lyon et périphérie', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['lyo', 'geo:2996944', 'Lyon, Auvergne-Rhône-Alpes, France'],
    ['Île-de-France', 'geo:FR.11', 'Île-de-France, France'],
    ['ile de france', 'geo:FR.11', 'Île-de-France, France'],
    ['Bretagne', 'geo:FR.53', 'Brittany, France'],
    ['PACA', 'geo:FR.93', "Provence-Alpes-Côte d'Azur, France"],
    ['St Etienne', 'geo:2980291', 'Saint-Étienne, Auvergne-Rhône-Alpes, France'],
    ['saint et, france', 'geo:2980291', 'Saint-Étienne, Auvergne-Rhône-Alpes, France'],
    ['paris', 'geo:2988507', 'Paris, Île-de-France, France'],
    ['Greater Paris Metropolitan Region', 'geo:2988507', 'Paris, Île-de-France, France'],
    ['paris texas', 'geo:4717560', 'Paris, Texas, United States'],
    ['Paris, TX', 'geo:4717560', 'Paris, Texas, United States'],
    ['new york', 'geo:US.NY', 'New York, United States'],
    ['New York, NY', 'geo:5128581', 'New York City, New York, United States'],
    ['NYC', 'geo:5128581', 'New York City, New York, United States'],
    ['los angeles ca', 'geo:5368361', 'Los Angeles, California, United States'],
    ['San Francisco Bay Area', 'geo:5391959', 'San Francisco, California, United States'],
    ['Austin, Texas Metropolitan Area', 'geo:4671654', 'Austin, Texas, United States'],
    ['springfield illinois united states', 'geo:4250542', 'Springfield, Illinois, United States'],
    ['Washington, D.C.', 'geo:4140963', 'Washington, D.C., District of Columbia, United States'],
    ['united kingdom', 'geo:GB', 'United Kingdom'],
    ['UK', 'geo:GB', 'United Kingdom'],
    ['Royaume-Uni', 'geo:GB', 'United Kingdom'],
    ['England', 'geo:GB.ENG', 'England, United Kingdom'],
    ['Londres', 'geo:2643743', 'London, England, United Kingdom'],
    ['USA', 'geo:US', 'United States'],
    ['états unis', 'geo:US', 'United States'],
    ['fr', 'geo:FR', 'France'],
    ['Deutschland', 'geo:DE', 'Germany'],
    ['Bayern', 'geo:DE.02', 'Bavaria, Germany'],
    ['München', 'geo:2867714', 'Munich, Bavaria, Germany'],
    ['muenchen', 'geo:2867714', 'Munich, Bavaria, Germany'],
    ['cologne', 'geo:2886242', 'Köln, North Rhine-Westphalia, Germany'],
    ['Hamburg, Germany', 'geo:DE.04', 'Hamburg, Germany'],
    ['zurich', 'geo:CH.ZH', 'Zurich, Switzerland'],
    ['cataluña', 'geo:ES.56', 'Catalonia, Spain'],
    ['georgia', 'geo:GE', 'Georgia'],
    ['Georgia, USA', 'geo:US.GA', 'Georgia, United States'],
    ['Ho Chi Minh City, Vietnam', 'geo:VN.79', 'Ho Chi Minh City, Vietnam'],
    ['bergen norway', 'geo:3161732', 'Bergen, Vestland, Norway'],
    ['york', 'geo:2633352', 'York, England, United Kingdom'],
    ['st louis', 'geo:4407066', 'St. Louis, Missouri, United States'],
  ])('for "%s" is %s (%s)', (name, id, context) => {
    expect(findLocations(name, 'database')[0]).toMatchObject({ id, context })
  })
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
    "'; DROP TABLE places; --",
    '"paris" OR 1=1',
    '%',
    '_',
    '*',
    'lyon\0',
    '\u{10ffff}',
    '\ud800',
    'a'.repeat(10_000),
    'a, '.repeat(5_000),
    'greater '.repeat(1_000),
    'greater '.repeat(20),
    'new '.repeat(40),
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
