import { expect, it } from 'vitest'
import type { PeopleFilters } from '../../../src/api/ports/ports.js'
import { casesOf } from '../../support/fixtures.js'
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

it.each(casesOf<[string, PeopleFilters, boolean]>('catalogue/records/person-row/finds-people-by-past'))(
  'finds people by past position: %s: %j',
  async (_, filters, expected) => {
    expect(await found(posts, filters)).toBe(expected)
  },
)

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
