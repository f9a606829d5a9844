import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { PersonQuery } from '../../../src/api/ports/ports.js'
import { personRecord } from '../../../src/api/schemas/records.js'
import { anyCodePoint } from '../../support/any-text.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openWith } from '../open.js'

const at = (slug: string) => `https://www.network.example/in/${slug}`
const userId = 'ACoAAB1234567890abcdefghijklmnopqrstuvw'
const mail = (address: string) => ({ email: `${address}@acme.example` })

const companies = [
  { name: 'Acme Robotics GmbH', domain: 'acme.example', network_id: '100' },
  { name: 'Delta', domain: 'delta.example', country: 'US' },
  { name: 'Delta SA', domain: 'delta-fr.example', country: 'FR' },
  { name: 'Cedar Inc', network_url: 'https://www.network.example/company/cedar' },
]

const people = [
  {
    id: 'ada',
    first_name: 'Ada',
    last_name: 'Lovelace',
    network_profile_url: at('ada-lovelace'),
    network_id: userId,
    company_domain: 'acme.example',
    title: 'Engineer',
    started_at: '2024-01-15',
    email: 'Ada@Acme.example',
    personal_email: 'ada@mailbox.example',
    phones: ['+33639980001', '+33139980002'],
  },
  { id: 'zoe', first_name: 'Zoé', last_name: "D'Arc-Łoś", company_domain: 'acme.example', ...mail('zoe') },
  { id: 'max-1', full_name: 'Max Born', company_domain: 'acme.example', ...mail('max') },
  { id: 'max-2', full_name: 'Max Born', company_domain: 'acme.example', ...mail('born') },
  { id: 'max-3', full_name: 'Max Born', company_domain: 'delta.example', personal_email: 'max@acme.example' },
  { id: 'eve-1', full_name: 'Eve Moss', company_domain: 'delta.example' },
  { id: 'ivy-1', full_name: 'Ivy Reed', company_domain: 'delta.example' },
  { id: 'ivy-2', full_name: 'Ivy Reed', company_domain: 'delta-fr.example' },
  { id: 'sam', full_name: 'Sam Oak', company_name: 'Cedar' },
  {
    id: 'lone',
    full_name: 'Lea Lone',
    company_name: 'Nowhere Ltd',
    messenger: true,
    phones: ['+12125550101'],
  },
  {
    id: 'mute',
    full_name: 'Mia Mute',
    company_name: 'Nowhere Ltd',
    messenger: false,
    phones: ['+33639980009'],
  },
  { id: 'us', full_name: 'Uma Unsaid', company_name: 'Nowhere Ltd', phones: ['+12125550102'] },
]

const catalogue = perFile(() => openWith(companies))
beforeAll(async () => {
  const { rejected } = await catalogue.importRecords('people', people)
  expect(rejected).toEqual([])
})

const named = (name: string, query: PersonQuery): PersonQuery => {
  const [firstName, lastName] = name.split(' ', 2)
  return { firstName, lastName, ...query }
}

describe('a person', () => {
  it.each<[string, PersonQuery, string | undefined]>([
    ['a profile url', { url: at('ada-lovelace') }, 'ada'],
    ['a profile url in another spelling', { url: 'http://fr.linkedin.com/in/Ada-Lovelace/?x=1' }, 'ada'],
    ['a profile url by user id', { url: at(userId) }, 'ada'],
    ['a premium url', { url: `https://www.network.example/sales/lead/${userId},NAME_SEARCH,x` }, 'ada'],
    ['a user id in another case', { url: at(userId.replace('abc', 'ABC')) }, undefined],
    ['a profile url, whatever the name', named('Max Born', { url: at('ada-lovelace') }), 'ada'],
    ['an unknown profile url', { url: at('ghost') }, undefined],
    ['the url of a company', { url: 'https://www.network.example/company/cedar' }, undefined],
    ['name and domain', named('ADA lovelace', { domain: 'acme.example' }), 'ada'],
    ['name and website', named('Ada Lovelace', { domain: 'https://www.acme.example/team' }), 'ada'],
    ['a name without its accents', named('zoe darc-los', { domain: 'acme.example' }), 'zoe'],
    ['name and company', named('Ada Lovelace', { companyName: 'ACME Robotics' }), 'ada'],
    ['name and company of a profile alone', named('Sam Oak', { companyName: 'Cedar Inc.' }), 'sam'],
    ['name and a company that is only a name', named('Lea Lone', { companyName: 'nowhere' }), 'lone'],
    ['a name alone', named('Ada Lovelace', {}), undefined],
    ['half a name', { firstName: 'Ada', domain: 'acme.example' }, undefined],
    ['a name at another domain', named('Ada Lovelace', { domain: 'delta.example' }), undefined],
    ['a name that two have there', named('Max Born', { domain: 'acme.example' }), undefined],
    ['a name that one has there', named('Max Born', { domain: 'delta.example' }), 'max-3'],
    ['a name at one of two companies of a name', named('Eve Moss', { companyName: 'Delta' }), 'eve-1'],
    ['a name at both companies of a name', named('Ivy Reed', { companyName: 'Delta' }), undefined],
    [
      'a known domain, whatever the company name',
      named('Ivy Reed', { domain: 'delta-fr.example', companyName: 'Acme' }),
      'ivy-2',
    ],
    [
      'an unknown domain where the company has its own',
      named('Ada Lovelace', { domain: 'ghost.example', companyName: 'Acme Robotics' }),
      undefined,
    ],
    [
      'an unknown domain where the company has none',
      named('Sam Oak', { domain: 'ghost.example', companyName: 'Cedar' }),
      'sam',
    ],
    [
      'an unknown profile where the person has one',
      named('Ada Lovelace', { url: at('other-ada'), domain: 'acme.example' }),
      undefined,
    ],
    [
      'an unknown profile where the person has none',
      named('Zoé Darc-Łoś', { url: at('zoe'), domain: 'acme.example' }),
      'zoe',
    ],
    ['nothing', {}, undefined],
    ['blank text', { url: '', firstName: ' ', lastName: ' ', domain: ' ', companyName: ' ' }, undefined],
    ['a character that no text has', { firstName: '\0', lastName: 'x', companyName: '\0' }, undefined],
  ])('is looked up by %s', async (_, query, id) => {
    expect((await catalogue.person(query))?.id).toBe(id)
  })

  it.each([
    ['a professional address', 'ada@acme.example', 'ada'],
    ['an address in another case', ' ADA@acme.EXAMPLE ', 'ada'],
    ['a personal address', 'Ada@Mailbox.example', 'ada'],
    ['an address that two have', 'max@acme.example', undefined],
    ['an unknown address', 'ghost@acme.example', undefined],
    ['blank text', ' ', undefined],
  ])('is looked up by email: %s', async (_, email, id) => {
    expect((await catalogue.personByEmail(email))?.id).toBe(id)
  })

  it('is never found by random text', async () => {
    const text = fc.option(fc.string({ unit: anyCodePoint }), { nil: undefined })
    const query = fc.record({ url: text, firstName: text, lastName: text, companyName: text, domain: text })
    await fc.assert(
      fc.asyncProperty(query, fc.string(), async (one, email) => {
        expect(await catalogue.person(one)).toBeUndefined()
        expect(await catalogue.personByEmail(email)).toBeUndefined()
      }),
      { numRuns: tries(50, 200) },
    )
  })
})

describe('the record of a person', () => {
  it('has all known values', async () => {
    expect(await catalogue.person({ url: at('ada-lovelace') })).toEqual({
      id: 'ada',
      status: 'QUALIFIED',
      first_name: 'Ada',
      last_name: 'Lovelace',
      full_name: 'Ada Lovelace',
      title: 'Engineer',
      headline: null,
      summary: null,
      seniority: null,
      function: null,
      location: null,
      city: null,
      country: null,
      connections_count: null,
      company_name: 'Acme Robotics GmbH',
      company_domain: 'acme.example',
      current_position: {
        title: 'Engineer',
        company_name: 'Acme Robotics GmbH',
        company_network_id: '100',
        started_at: '2024-01-15',
      },
      years_in_position: null,
      months_in_position: null,
      years_in_company: null,
      months_in_company: null,
      network_id: userId,
      network_profile_url: at('ada-lovelace'),
      premium_profile_url: null,
      profile_image_url: null,
      most_probable_email: 'ada@acme.example',
      most_probable_email_status: 'valid',
      phones: ['+33639980001', '+33139980002'],
    })
  })

  it('has every key even if little is known', async () => {
    const person = await catalogue.person(named('Sam Oak', { companyName: 'Cedar' }))
    const keys = Object.keys(personRecord().shape).filter((key) => key !== 'source' && key !== 'not_asked') // only of data vendors
    expect(Object.keys(person ?? {})).toEqual(keys)
    expect(person).toMatchObject({ company_domain: null, most_probable_email_status: null, phones: [] })
  })
})

describe('a phone number', () => {
  const reached = async (...numbers: string[]) => [...(await catalogue.reachable(numbers))]

  it('is reachable when it is a mobile number of the catalogue with no recorded result', async () => {
    expect(await reached('+33639980001', '+33139980002', '+12125550102')).toEqual(['+33639980001'])
  })

  it('is reachable when the catalogue says so, mobile or not', async () => {
    expect(await reached('+12125550101', '+33639980009')).toEqual(['+12125550101'])
  })

  it('is reachable only when the catalogue contains it', async () => {
    expect(await reached('+33639980777')).toEqual([])
    expect(await reached()).toEqual([])
  })
})
