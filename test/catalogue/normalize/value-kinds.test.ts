import { describe, expect, test } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import { identityIn } from '../../../src/identity/keys.js'
import {
  ColumnSample,
  fitsColumn,
  isMisplaced,
  toColumnKind,
  toValueKind,
} from '../../../src/identity/value-kinds.js'
import { casesOf } from '../../support/fixtures.js'

describe('a value is recognised by its form', () => {
  test.each(casesOf<[string, string]>('catalogue/normalize/value-kinds/is-a'))('%s is a %s', (cell, kind) => {
    expect(toValueKind(cell)).toBe(kind)
  })

  test.each(casesOf<string>('catalogue/normalize/value-kinds/is-none-of-them'))(
    '%j is none of them',
    (cell) => {
      expect(toValueKind(cell)).toBeUndefined()
    },
  )
})

test('a column is of the kind that more than half of its cells are', () => {
  const url = 'https://linkedin.com/in/a'
  expect(toColumnKind([url, url, 'acme.example'])).toBe('person profile')
  expect(toColumnKind([url, 'acme.example'])).toBeUndefined()
  expect(toColumnKind([])).toBeUndefined()
})

test('a column holds names of people only if its own name may mean that', () => {
  const names = ['Thomas Cook', 'Hugo Boss', 'Levi Strauss', 'John Deere']
  expect(toColumnKind(names, 'Name')).toBe('person name')
  expect(toColumnKind(names, 'Company')).toBeUndefined()
})

test('a column of email addresses may fill a domain, and one of profiles may not', () => {
  expect(fitsColumn('companies', 'domain', 'email')).toBe(true)
  expect(fitsColumn('companies', 'domain', 'person profile')).toBe(false)
})

test('a column of a certain kind fills only the fields of that kind, and any other column a field of any text', () => {
  expect(fitsColumn('people', 'network_url', 'person profile')).toBe(true)
  expect(fitsColumn('people', 'network_url', 'company profile')).toBe(false)
  expect(fitsColumn('companies', 'network_url', 'company profile')).toBe(true)
  expect(fitsColumn('people', 'headline', 'phone')).toBe(false)
  expect(fitsColumn('people', 'headline', 'company name')).toBe(true)
  expect(fitsColumn('people', 'last_name', 'company name')).toBe(false)
})

test.each(casesOf<[string, string | null, boolean]>('catalogue/normalize/value-kinds/is-misplaced'))(
  'whether %s is not the domain of a company named %s: %s',
  (cell, name, isWrong) => {
    expect(isMisplaced('companies', 'domain', cell, name ?? undefined)).toBe(isWrong)
  },
)

test('the sample of a file ends after a million characters, also when a column is empty in every row', () => {
  const sample = new ColumnSample(2)
  let rows = 1
  while (sample.add(['x'.repeat(98), '']) && rows < 100_000) rows += 1
  expect(rows).toBe(10_000)
})

test('the identity of a row is that of all its spellings, and of no other row', () => {
  const cases = casesOf<[kind: string, what: string, rows: Fields[]]>(
    'catalogue/normalize/value-kinds/identities',
  )
  const identities = cases.map(([kind, what, rows]) => {
    const found = new Set(rows.map((row) => identityIn(kind === 'people' ? 'person' : 'company', row)))
    expect([what, ...found]).toEqual([what, what.startsWith('nothing') ? undefined : expect.any(String)])
    return [...found][0]
  })
  const known = identities.filter((identity) => identity !== undefined)
  expect(new Set(known).size).toBe(cases.length - 2)
})
