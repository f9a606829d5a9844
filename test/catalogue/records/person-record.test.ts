import { expect, it } from 'vitest'
import type { Lead } from '../../../src/api/ports/ports.js'
import { leadAndCompany } from '../../../src/api/schemas/records.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { openWith, stillClock } from '../open.js'

async function leadOf(person: Fields): Promise<Lead> {
  const catalogue = await openWith([{ domain: 'acme.example', name: 'Acme' }])
  const { rejected } = await catalogue.importRecords('people', [{ first_name: 'Ada', ...person }])
  expect(rejected).toEqual([])
  const search = { kind: 'people', filters: { first_name: 'ada' } } as const
  const { records } = await catalogue.find(search, { limit: 1, now: stillClock.now() })
  await catalogue.close()
  if (!records[0]) throw new Error('nobody was found')
  const { lead, company, network_id } = records[0]
  expect(network_id).not.toBeNull()
  return { lead, company }
}

it('returns every key of a lead, also of unknown values', async () => {
  const bare = await leadOf({ network_profile_url: 'https://www.network.example/in/ada' })
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
    network_profile_url: 'https://www.network.example/in/ada',
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
