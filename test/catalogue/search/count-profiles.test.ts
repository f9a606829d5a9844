import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import type { ProfileFilters } from '../../../src/engine/ports/ports.js'
import { openWith } from '../open.js'

let catalogue: Catalogue
beforeAll(async () => {
  catalogue = await openWith([
    { domain: 'acme.example', network_id: '100' },
    { domain: 'bare.example', network_id: '200' },
  ])
  const person = (name: string, title: string, more: Record<string, unknown>) => ({
    full_name: name,
    title,
    email: `${name.split(' ')[0]}@acme.example`,
    company_domain: 'acme.example',
    ...more,
  })
  const { rejected } = await catalogue.importRecords('people', [
    person('Ada Byron', 'Chief Technology Officer', { country: 'FR', city: 'Lyon' }),
    person('Bob Cole', 'Sales Engineer', { country: 'FR', city: 'Saint-Étienne' }),
    person('Cy Dorn', 'Engineer', { country: 'BE' }),
    person('Di Ekman', 'Head of Sales', {}),
    person('Eve Frost', 'Engineer', { country: 'FR', company_domain: 'other.example' }),
  ])
  expect(rejected).toEqual([])
})
afterAll(() => catalogue.close())

const count = (filters: ProfileFilters, networkId = '100') => catalogue.countProfiles({ networkId }, filters)

it.each<[string, ProfileFilters, number]>([
  ['everyone', {}, 4],
  ['a word of the title', { title_to_include: ['engineer'] }, 2],
  ['a phrase of the title', { title_to_include: ['sales engineer'] }, 1],
  ['any of several', { title_to_include: ['chief technology officer', 'sales'] }, 3],
  ['everyone, by a star', { title_to_include: ['*'] }, 4],
  ['none of several', { title_to_exclude: ['engineer', 'chief'] }, 1],
  ['one and not another', { title_to_include: ['sales'], title_to_exclude: ['engineer'] }, 1],
  ['a country by code', { included_locations: ['FR'] }, 2],
  ['a country by name', { included_locations: ['belgique'] }, 1],
  ['a country where nobody is', { included_locations: ['JP'] }, 0],
  ['a city', { included_locations: ['lyon'] }, 1],
  ['a city without its accents', { included_locations: ['saint-etienne'] }, 1],
  ['a country or a city', { included_locations: ['BE', 'Lyon'] }, 2],
  ['a country once, with its own city', { included_locations: ['FR', 'Lyon'] }, 2],
  ['a country by its id on the network', { included_locations: ['105015875'] }, 2],
  ['a region', { included_locations: ['geo:FR.84'] }, 2],
  ['a country without a city', { included_locations: ['FR'], excluded_locations: ['Lyon'] }, 1],
  ['anywhere else, or nowhere known', { excluded_locations: ['FR'] }, 2],
  ['a title at a place', { title_to_include: ['engineer'], included_locations: ['FR'] }, 1],
])('counts the profiles of a company by %s', async (_, filters, total) => {
  expect(await count(filters)).toBe(total)
})

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
