import Database from 'better-sqlite3'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { ApiError } from '../../../src/api/calls/errors.js'
import { not } from '../../../src/catalogue/full-text/keyword.js'
import { foldText } from '../../../src/catalogue/normalize/name.js'
import { findRegion } from '../../../src/catalogue/places/place.js'
import { inPlaces } from '../../../src/catalogue/search/conditions.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'

type Row = readonly [key: number, country: string | null, region: string | null, city: string | null]

const database = new Database(':memory:')
database.exec('CREATE TABLE people (key INTEGER PRIMARY KEY, country TEXT, region TEXT, city TEXT)')
database.exec('CREATE INDEX people_by_city ON people (country, city)')
database.exec('CREATE INDEX people_by_region ON people (region)')
afterAll(() => {
  database.close()
})

function keep(rows: readonly Row[]): void {
  database.exec('DELETE FROM people')
  for (const row of rows) database.prepare('INSERT INTO people VALUES (?, ?, ?, ?)').run(...row)
}

const keys = ([sql, ...values]: ReturnType<typeof inPlaces>): unknown[] =>
  database
    .prepare(`SELECT key FROM people WHERE ${sql} ORDER BY key`)
    .pluck()
    .all(...values)

/** A row as an import writes it. */
const row = (key: number, country: string, city: string, location?: string): Row => [
  key,
  country,
  findRegion(country, city, location) ?? null,
  foldText(city),
]

const refusal = (ids: readonly string[]): ApiError | undefined => {
  try {
    inPlaces('included_locations', ids)
  } catch (error) {
    if (error instanceof ApiError) return error
  }
  return undefined
}

describe('people in a place', () => {
  const people = [
    row(1, 'FR', 'Lyon'),
    row(2, 'FR', 'Saint-Étienne'),
    row(3, 'FR', 'Paris'),
    row(4, 'US', 'Paris', 'Paris, Texas, United States'),
    row(5, 'US', 'Paris', 'Paris, Illinois, United States'),
    row(6, 'DE', 'München'),
    row(7, 'DE', 'Munich'),
    row(8, 'US', 'New York'),
    [9, null, null, null] as const,
    [10, 'FR', null, 'lyon'] as const,
    [11, 'US', null, 'paris'] as const,
  ]

  it.each(casesOf<[ids: string[], keys: number[]]>('catalogue/search/place-condition/are-found-by'))(
    'are found by %j',
    (ids, expected) => {
      keep(people)
      expect(keys(inPlaces('included_locations', ids))).toEqual(expected)
    },
  )

  it('are excluded by a place, but for people whose place is unknown', () => {
    keep(people)
    expect(keys(not(inPlaces('excluded_locations', ['geo:FR'])))).toEqual([4, 5, 6, 7, 8, 9, 11])
  })

  it('are found with an index', () => {
    const [sql, ...values] = inPlaces('included_locations', ['Lyon'])
    const plan = database.prepare(`EXPLAIN QUERY PLAN SELECT key FROM people WHERE ${sql}`).all(...values)
    expect(JSON.stringify(plan)).toContain('people_by_city (country=? AND city=?')
  })

  it('are the same whatever other places are requested', () => {
    const cities = [
      ['FR', 'Lyon'],
      ['FR', 'Paris'],
      ['US', 'Paris'],
      ['GB', 'London'],
      ['CA', 'London'],
      ['DE', 'Köln'],
    ] as const
    const ids = [
      'geo:FR',
      'geo:US',
      'geo:FR.84',
      'geo:GB.ENG',
      'Lyon',
      'Paris',
      'Paris, Texas',
      'Cologne',
      'London, Ontario',
    ]
    const rows = fc.array(fc.constantFrom(...cities), { maxLength: 30 })
    fc.assert(
      fc.property(rows, fc.subarray(ids), (places, asked) => {
        keep(places.map(([country, city], key) => row(key, country, city)))
        const each = asked.flatMap((id) => keys(inPlaces('locations', [id])))
        const all = keys(inPlaces('locations', asked))
        expect(all).toEqual([...new Set(each)].sort((a, b) => Number(a) - Number(b)))
      }),
      { numRuns: tries(25, 100) },
    )
  })
})

describe('an unknown place', () => {
  it('is refused with the name of its field', () => {
    const error = refusal(['France', 'Xanadupolis'])
    expect([error?.code, error?.status]).toEqual(['unknown_place', 422])
    expect(error?.message).toBe("Unknown place in included_locations: 'Xanadupolis'")
  })

  it.each(["' OR 1=1 --", '"', 'x'.repeat(10_000), '', '\0'])('is refused with a short message: %j', (id) => {
    expect(refusal([id])?.status).toBe(422)
    expect(refusal([id])?.message.length).toBeLessThan(250)
  })
})
