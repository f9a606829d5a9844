import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PersonQuery } from '../../../src/api/ports/ports.js'
import { personRecord } from '../../../src/api/schemas/records.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { anyCodePoint } from '../../support/any-text.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith } from '../open.js'

const at = (slug: string) => `https://www.network.example/in/${slug}`
const userId = 'ACoAAB1234567890abcdefghijklmnopqrstuvw'

const companies = [
  { name: 'Acme Robotics GmbH', domain: 'acme.example', network_id: '100' },
  { name: 'Delta', domain: 'delta.example', country: 'US' },
  { name: 'Delta SA', domain: 'delta-fr.example', country: 'FR' },
  { name: 'Cedar Inc', network_url: 'https://www.network.example/company/cedar' },
]

const people = casesOf<Fields>('catalogue/lookup/match-person/people')

const catalogue = perFile(() => openWith(companies, { people }))

const named = (name: string, query: PersonQuery): PersonQuery => {
  const [firstName, lastName] = name.split(' ', 2)
  return { firstName, lastName, ...query }
}

describe('a person', () => {
  it.each(casesOf<[string, PersonQuery, string | null]>('catalogue/lookup/match-person/is-looked-up-by'))(
    'is looked up by %s',
    async (_, query, id) => {
      expect((await catalogue.person(query))?.id ?? null).toBe(id)
    },
  )

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
  // What only data vendors answer is no field of it.
  const keys = Object.keys(personRecord().shape).filter((key) => key !== 'source' && key !== 'not_asked')

  it('has all known values, and null for the others', async () => {
    expect(await catalogue.person({ url: at('ada-lovelace') })).toEqual({
      ...Object.fromEntries(keys.map((key) => [key, null])),
      id: 'ada',
      status: 'QUALIFIED',
      first_name: 'Ada',
      last_name: 'Lovelace',
      full_name: 'Ada Lovelace',
      title: 'Engineer',
      function: 'Engineering',
      seniority: 'Senior',
      company_name: 'Acme Robotics GmbH',
      company_domain: 'acme.example',
      current_position: {
        title: 'Engineer',
        company_name: 'Acme Robotics GmbH',
        company_network_id: '100',
        started_at: '2024-01-15',
      },
      network_id: userId,
      network_profile_url: at('ada-lovelace'),
      most_probable_email: 'ada@acme.example',
      most_probable_email_status: 'valid',
      phones: ['+33639980001', '+33139980002'],
    })
  })

  it('has every key even if little is known', async () => {
    const person = await catalogue.person(named('Sam Oak', { companyName: 'Cedar' }))
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
