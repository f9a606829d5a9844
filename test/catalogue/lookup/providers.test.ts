import { beforeAll, describe, expect, it } from 'vitest'
import type { Contact, ContactType } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { runWaterfall } from '../../../src/engine/handlers/waterfall.js'
import { perFile } from '../../support/each.js'
import { openWith } from '../open.js'

const at = (slug: string) => `https://www.network.example/in/${slug}`

/** Colleagues at a company with addresses in one pattern, two unless more are wanted. */
const staff = (
  domain: string,
  address: (first: string, last: string) => string,
  more: Fields = {},
): Fields[] =>
  [
    ['Grace', 'Hopper'],
    ['Alan', 'Turing'],
  ].map(([first = '', last = '']) => ({
    first_name: first,
    last_name: last,
    company_domain: domain,
    email: address(first.toLowerCase(), last.toLowerCase()),
    ...more,
  }))

const companies = [
  ...['acme', 'mail', 'tie', 'two', 'few', 'risk', 'free'].map((name) => ({
    name: `${name} GmbH`,
    domain: `${name}.example`,
  })),
]

const people: Fields[] = [
  ...staff('acme.example', (first, last) => `${first}.${last}@acme.example`),
  {
    first_name: 'Ada',
    last_name: 'Lovelace',
    company_domain: 'acme.example',
    network_profile_url: at('ada'),
    email: 'countess@acme.example',
    email_status: 'risky',
    personal_email: 'ada@mailbox.example',
    personal_email_status: 'invalid',
    phones: ['+33639980001', '+12125550101', '+33199001234'],
  },
  { first_name: 'Ivy', last_name: 'Reed', company_domain: 'acme.example', network_profile_url: at('ivy') },
  {
    first_name: 'Wrong',
    last_name: 'Way',
    company_domain: 'acme.example',
    email: 'wrong.way@acme.example',
    email_status: 'invalid',
  },
  // Two of one name: nobody can say who is meant, and the address is taken.
  { full_name: 'Max Born', company_domain: 'acme.example', email: 'max.born@acme.example' },
  { full_name: 'Max Born', company_domain: 'acme.example', email: 'max.born2@acme.example' },
  { full_name: 'Somebody Else', email: 'else@x.example', personal_email: 'eve.moss@acme.example' },
  ...staff('mail.example', (first, last) => `${first.charAt(0)}${last}@mail-group.example`),
  { full_name: 'Old Timer', company_domain: 'mail.example', email: 'otimer@mail.example' },
  ...staff('tie.example', (first) => `${first}@tie.example`),
  { full_name: 'Kay One', company_domain: 'tie.example', email: 'one.kay@tie-group.example' },
  { full_name: 'Kim Two', company_domain: 'tie.example', email: 'two.kim@tie-group.example' },
  ...staff('two.example', (first) => `${first}@two-a.example`),
  { full_name: 'Kay One', company_domain: 'two.example', email: 'kay@two-b.example' },
  { full_name: 'Kim Two', company_domain: 'two.example', email: 'kim@two-b.example' },
  staff('few.example', (first, last) => `${first}.${last}@few.example`)[0] ?? {},
  ...staff('risk.example', (first, last) => `${first}.${last}@risk.example`, { email_status: 'risky' }),
  ...staff('free.example', (first, last) => `${first}.${last}@gmail.com`),
]

const catalogue = perFile(() => openWith(companies))
beforeAll(async () => {
  const { rejected } = await catalogue.importRecords('people', people)
  expect(rejected).toEqual([])
})

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

  it.each<[string, Contact, string | null]>([
    ['for a person known by a profile alone', { url: at('ivy') }, 'ivy.reed@acme.example'],
    ['by the name of the company', named('Eve Oak', { companyName: 'ACME' }), 'eve.oak@acme.example'],
    [
      'at the domain of the addresses',
      named('Eve Moss', { domain: 'mail.example' }),
      'emoss@mail-group.example',
    ],
    ['not when it is a personal address of another', named('Eve Moss', { domain: 'acme.example' }), null],
    ['not when another has it', named('Max Born', { domain: 'acme.example' }), null],
    ['not for half a name', { firstName: 'Eve', domain: 'acme.example' }, null],
    ['not at an unknown company', named('Eve Oak', { domain: 'ghost.example' }), null],
    ['not from one colleague', named('Eve Oak', { domain: 'few.example' }), null],
    ['not from addresses that are risky themselves', named('Eve Oak', { domain: 'risk.example' }), null],
    ['not from free mailboxes', named('Eve Oak', { domain: 'free.example' }), null],
    ['not when two domains are equally common', named('Eve Oak', { domain: 'two.example' }), null],
    [
      'at the given domain when another is equally common',
      named('Eve Oak', { domain: 'tie.example' }),
      'eve@tie.example',
    ],
  ])('is returned or withheld: %s', async (_, contact, email) => {
    expect((await reach(contact, 'email')).found.email).toBe(email)
  })

  it('is never a personal address or a phone', async () => {
    const { found } = await reach({ url: at('ivy') }, 'personal_email', 'phone')
    expect(found).toMatchObject({ personal_email: null, phone: [] })
  })
})
