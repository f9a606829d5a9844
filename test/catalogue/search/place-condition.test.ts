import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { not } from '../../../src/catalogue/full-text/keyword.js'
import { findRegion } from '../../../src/catalogue/places/place.js'
import { inPlaces } from '../../../src/catalogue/search/conditions.js'
import { foldText } from '../../../src/identity/name.js'
import { casesOf } from '../../support/fixtures.js'

type Row = readonly [key: number, country: string | null, region: string | null, city: string | null]

const database = new Database(':memory:')
database.exec('CREATE TABLE people (key INTEGER PRIMARY KEY, country TEXT, region TEXT, city TEXT)')
afterAll(() => {
  database.close()
})

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

describe('people in a place', () => {
  const people: readonly Row[] = [
    row(1, 'FR', 'Lyon'),
    row(2, 'FR', 'Saint-Étienne'),
    row(3, 'FR', 'Paris'),
    row(4, 'US', 'Paris', 'Paris, Texas, United States'),
    row(5, 'US', 'Paris', 'Paris, Illinois, United States'),
    row(6, 'DE', 'München'),
    row(7, 'DE', 'Munich'),
    row(8, 'US', 'New York'),
    [9, null, null, null],
    [10, 'FR', null, 'lyon'],
    [11, 'US', null, 'paris'],
  ]
  beforeAll(() => {
    for (const row of people) database.prepare('INSERT INTO people VALUES (?, ?, ?, ?)').run(...row)
  })

  it.each(casesOf<[ids: string[], keys: number[]]>('catalogue/search/place-condition/are-found-by'))(
    'are found by %j',
    (ids, expected) => {
      expect(keys(inPlaces('included_locations', ids))).toEqual(expected)
    },
  )

  it('are excluded by a place, but for people whose place is unknown', () => {
    expect(keys(not(inPlaces('excluded_locations', ['geo:FR'])))).toEqual([4, 5, 6, 7, 8, 9, 11])
  })
})

it.each(["' OR 1=1 --", '"', 'x'.repeat(10_000), '', '\0', 'Xanadupolis'])(
  'an unknown place is refused with the name of its field and a short message: %j',
  (id) => {
    const message = expect.stringMatching(/^Unknown place in included_locations: '.{0,200}'$/s)
    expect(() => inPlaces('included_locations', ['France', id])).toThrow(
      expect.objectContaining({ code: 'unknown_place', status: 422, message }),
    )
  },
)
