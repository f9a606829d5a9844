import { describe, expect, it } from 'vitest'
import type { Lead, PeopleFilters } from '../../../src/api/ports/ports.js'
import { leadAndCompany } from '../../../src/api/schemas/records.js'
import type { Fields } from '../../../src/api/values/objects.js'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith, stillClock } from '../open.js'

/** A catalogue with a person, and a company that she may work at. */
const openWithPerson = (person: Fields): Promise<Catalogue> => {
  const ada = { first_name: 'Ada', network_profile_url: 'https://www.network.example/in/ada', ...person }
  return openWith([{ domain: 'acme.example', name: 'Acme' }], { people: [ada] })
}

const now = stillClock.now()

async function leadOf(person: Fields): Promise<Lead> {
  const catalogue = await openWithPerson(person)
  const { records } = await catalogue.find(
    { kind: 'people', filters: { first_name: 'ada' } },
    { limit: 1, now },
  )
  await catalogue.close()
  if (!records[0]) throw new Error('nobody was found')
  const { lead, company, network_id } = records[0]
  expect(network_id).not.toBeNull()
  return { lead, company }
}

it('returns every key of a lead, also of unknown values', async () => {
  const bare = await leadOf({})
  expect(Object.keys(bare.lead).sort()).toEqual(Object.keys(leadAndCompany().shape.lead.shape).sort())
  expect(leadAndCompany().strict().parse(bare)).toEqual(bare)
  expect(bare).toMatchObject({
    company: null,
    lead: { status: 'QUALIFIED', rejection_reason: [], phones: [] },
  })
})

it('returns the known values of a lead and its company', async () => {
  const { lead, company } = await leadOf({
    last_name: 'Byron',
    gender: 'female',
    email: 'ada@acme.example',
    phones: ['+33612345678'],
    is_premium_network: true,
    company_domain: 'acme.example',
  })
  expect(lead).toMatchObject({
    full_name: 'Ada Byron',
    gender: 'female',
    most_probable_email: 'ada@acme.example',
    most_probable_email_status: 'valid',
    phones: ['+33612345678'],
    is_premium_network: true,
  })
  expect(company).toMatchObject({ name: 'Acme', domain: 'acme.example' })
})

it('computes tenures of a lead up to now', async () => {
  const { lead } = await leadOf({
    started_at: '2024-01-11',
    years_in_company: 6,
    months_in_company: 2,
  })
  expect(lead).toMatchObject({
    years_in_position: 2,
    months_in_position: 1,
    years_in_company: 6,
    months_in_company: 2,
  })
})

describe('past positions', () => {
  const posts = [
    ...[{}, { title: null, company_name: { a: 1 } }, { title: ['CTO'] }, { title: '  ' }, { title: 'C\0TO' }],
    { title: 'Head of Sales', company_name: 'Acme Robotics SARL', company_network_id: 'A-1' },
    { title: 'Engineer', company_name: 'Nørd', company_network_id: 42 },
  ]
  const catalogue = perFile(() => openWithPerson({ title: 'CEO', past_positions: posts }))

  it.each(casesOf<[string, PeopleFilters, boolean]>('catalogue/records/person-record/past-positions'))(
    'find people, whatever invalid ones are beside them, by %s: %j',
    async (_, filters, isFound) => {
      expect(await catalogue.count({ kind: 'people', filters }, now)).toBe(isFound ? 1 : 0)
    },
  )
})
