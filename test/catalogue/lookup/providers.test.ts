import { describe, expect, it } from 'vitest'
import type { Contact, ContactType } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { runWaterfall } from '../../../src/engine/handlers/waterfall.js'
import { perFile } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith } from '../open.js'

const at = (slug: string) => `https://www.network.example/in/${slug}`

const companies = [
  ...['acme', 'mail', 'tie', 'two', 'few', 'risk', 'free'].map((name) => ({
    name: `${name} GmbH`,
    domain: `${name}.example`,
  })),
]

const people: Fields[] = casesOf<Fields>('catalogue/lookup/providers/people')

const catalogue = perFile(() => openWith(companies, { people }))

const reach = async (contact: Contact, ...types: ContactType[]) =>
  runWaterfall(await catalogue.providers(), contact, { types, mobileOnly: false, phoneCountryCodes: [] })

const named = (name: string, more: Contact): Contact => {
  const [firstName, lastName] = name.split(' ', 2)
  return { firstName, lastName, ...more }
}

describe('the first provider of the catalogue', () => {
  it('returns known addresses with their status and phones with their types', async () => {
    expect(await reach({ url: at('ada') }, 'email', 'personal_email', 'phone')).toEqual({
      found: {
        first_name: 'Ada',
        last_name: 'Lovelace',
        network_profile_url: at('ada'),
        email: 'countess@acme.example',
        email_status: 'risky',
        personal_email: 'ada@mailbox.example',
        personal_email_status: 'invalid',
        phone: ['+33639980001', '+12125550101', '+33199001234'],
        phone_details: [
          { number: '+33639980001', type: 'mobile', country_code: 'FR' },
          { number: '+12125550101', type: 'fixed_or_mobile', country_code: 'US' },
          { number: '+33199001234', type: 'fixed_line', country_code: 'FR' },
        ],
      },
      used: { email: 1, phone: 1 },
    })
  })

  it('finds a person by name and company too, and returns the profile', async () => {
    const { found } = await reach(named('ada lovelace', { companyName: 'Acme' }), 'email')
    expect(found).toMatchObject({
      first_name: 'ada',
      network_profile_url: at('ada'),
      email: 'countess@acme.example',
    })
  })

  it('returns nothing for an unknown person', async () => {
    const { found, used } = await reach({ url: at('ghost') }, 'email', 'personal_email', 'phone')
    expect(found).toMatchObject({ email: null, personal_email: null, phone: [], message: 'No data found' })
    expect(used).toEqual({})
  })

  it('may return an invalid address, which is free and is not guessed again', async () => {
    const { found, used } = await reach(named('Wrong Way', { domain: 'acme.example' }), 'email')
    expect(found).toMatchObject({ email: 'wrong.way@acme.example', email_status: 'invalid' })
    expect(used).toEqual({})
  })
})

describe('the guess from addresses of colleagues', () => {
  it('is a risky address for an unknown person', async () => {
    const { found, used } = await reach(named('Zoé Müller-Roux', { domain: 'www.acme.example' }), 'email')
    expect(found).toMatchObject({ email: 'zoe.muller-roux@acme.example', email_status: 'risky' })
    expect(used).toEqual({ email: 1 })
  })

  it.each(casesOf<[string, Contact, string | null]>('catalogue/lookup/providers/is-returned-or-withheld'))(
    'is returned or withheld: %s',
    async (_, contact, email) => {
      expect((await reach(contact, 'email')).found.email).toBe(email)
    },
  )

  it('is never a personal address or a phone', async () => {
    const { found } = await reach({ url: at('ivy') }, 'personal_email', 'phone')
    expect(found).toMatchObject({ personal_email: null, phone: [] })
  })
})
