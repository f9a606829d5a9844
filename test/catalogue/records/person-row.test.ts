import { expect, it } from 'vitest'
import type { PeopleFilters } from '../../../src/engine/ports/ports.js'
import { openEmpty, stillClock } from '../open.js'

async function found(past_positions: readonly unknown[], filters: PeopleFilters): Promise<boolean> {
  const catalogue = await openEmpty()
  const { rejected } = await catalogue.importRecords('people', [
    { network_profile_url: 'https://www.network.example/in/ada', title: 'CEO', past_positions },
  ])
  expect(rejected).toEqual([])
  const count = await catalogue.count({ kind: 'people', filters }, stillClock.now())
  await catalogue.close()
  return count === 1
}

const posts = [
  { title: 'Head of Sales', company_name: 'Acme Robotics SARL', company_network_id: 'A-1' },
  { title: 'Engineer', company_name: 'Nørd', company_network_id: 42 },
]

it.each<[string, PeopleFilters, boolean]>([
  ['a past title', { past_titles: ['head of sales'] }, true],
  ['a phrase of it', { past_titles: ['of sales'] }, true],
  ['no phrase across two of them', { past_titles: ['sales engineer'] }, false],
  ['no title of today', { past_titles: ['ceo'] }, false],
  ['no past title where today is asked for', { job_titles: ['engineer'] }, false],
  ['no past title by a keyword', { keyword: 'engineer' }, false],
  ['a company without its legal form', { past_companies: ['acme robotics'] }, true],
  ['a company without its accents', { past_companies: ['nord'] }, true],
  ['no part of a name', { past_companies: ['acme'] }, false],
  ['a company by its id', { past_companies: ['42'] }, true],
  ['a company by an id with a hyphen', { past_companies: ['A-1'] }, true],
  ['no part of an id', { past_companies: ['4'] }, false],
])('finds people by past position: %s: %j', async (_, filters, expected) => {
  expect(await found(posts, filters)).toBe(expected)
})

it('accepts past positions with invalid values', async () => {
  const odd = [
    {},
    { title: null, company_name: { a: 1 } },
    { title: ['CTO'] },
    { title: '  ' },
    { title: 'C\0TO' },
  ]
  expect(await found(odd, { past_titles: ['cto'] })).toBe(false)
  expect(await found([...odd, { title: 'CTO' }], { past_titles: ['cto'] })).toBe(true)
})
