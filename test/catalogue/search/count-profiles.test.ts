import { expect, it } from 'vitest'
import type { ProfileFilters } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith } from '../open.js'

const person = (name: string, title: string, more: Fields = {}): Fields => ({
  full_name: name,
  title,
  email: `${name.split(' ')[0]}@acme.example`,
  company_domain: 'acme.example',
  ...more,
})
const companies = [
  { domain: 'acme.example', network_id: '100' },
  { domain: 'bare.example', network_id: '200' },
]
const people = [
  person('Ada Byron', 'Chief Technology Officer', { country: 'FR', city: 'Lyon' }),
  person('Bob Cole', 'Sales Engineer', { country: 'FR', city: 'Saint-Étienne' }),
  person('Cy Dorn', 'Engineer', { country: 'BE' }),
  person('Di Ekman', 'Head of Sales'),
  person('Eve Frost', 'Engineer', { country: 'FR', company_domain: 'other.example' }),
]
const catalogue = perFile(() => openWith(companies, { people }))

const count = (filters: ProfileFilters, networkId = '100') => catalogue.countProfiles({ networkId }, filters)

it.each(casesOf<[string, ProfileFilters, number]>('catalogue/search/count-profiles/counts-the-profiles-of'))(
  'counts the profiles of a company by %s',
  async (_, filters, total) => {
    expect(await count(filters)).toBe(total)
  },
)

it.each(['included_locations', 'excluded_locations'] as const)(
  'refuses an unknown place with the name of its filter: %s',
  async (field) => {
    for (const location of ['999', 'Nowhere at all', '!!'])
      await expect(count({ [field]: ['FR', location] })).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining(`${field}: '${location}'`),
      })
  },
)

it('returns 0 for a company without people, and undefined for an unknown one', async () => {
  expect(await count({}, '200')).toBe(0)
  expect(await count({}, '300')).toBeUndefined()
})
