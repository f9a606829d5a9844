import { describe, expect, it } from 'vitest'
import type { CompanyQuery } from '../../../src/api/ports/ports.js'
import { perFile } from '../../support/each.js'
import { openWith } from '../open.js'

const at = (slug: string) => `https://www.network.example/company/${slug}`

const companies = [
  {
    id: 'acme',
    name: 'Acme Robotics GmbH',
    domain: 'acme.example',
    network_url: at('acme'),
    network_id: '100',
    country: 'DE',
  },
  { id: 'no-url', name: 'Birch Ltd', domain: 'birch.example', country: 'GB' },
  { id: 'no-domain', name: 'Cedar Inc', network_url: at('cedar'), country: 'US' },
  { id: 'two-fr', name: 'Lumen Conseil', domain: 'lumen-fr.example', country: 'FR' },
  { id: 'two-be', name: 'Lumen Conseil SRL', domain: 'lumen-be.example', country: 'BE' },
  { id: 'nowhere', name: 'Delta', domain: 'delta.example' },
  { id: 'delta-fr', name: 'Delta SA', domain: 'delta-fr.example', country: 'FR' },
  { id: 'group-com', name: 'Group', domain: 'group.example', network_url: at('group'), country: 'US' },
  {
    id: 'group-fr',
    name: 'Group France',
    domain: 'group-fr.example',
    network_url: at('group'),
    country: 'FR',
  },
  { id: 'lone', name: 'Lone Pine', network_url: at('lone-pine'), country: 'CA' },
  { id: 'idn', name: 'Bücher', domain: 'bücher.example', country: 'DE' },
]

describe('a query for a company', () => {
  const catalogue = perFile(() => openWith(companies))

  const found = async (query: CompanyQuery) => (await catalogue.company(query))?.id

  it.each<[string, CompanyQuery, string | undefined]>([
    ['a profile url', { url: at('acme') }, 'acme'],
    ['a profile url in another spelling', { url: 'http://fr.linkedin.com/company/ACME/?x=1' }, 'acme'],
    ['a premium profile url', { url: 'https://www.network.example/sales/company/100' }, 'acme'],
    ['a domain', { domain: 'acme.example' }, 'acme'],
    ['a website', { domain: 'https://www.Acme.example/about' }, 'acme'],
    ['an email address', { domain: 'jane@mail.acme.example' }, 'acme'],
    ['a domain in letters of its own', { domain: 'https://bücher.example/x' }, 'idn'],
    ['a name', { name: 'ACME ROBOTICS' }, 'acme'],
    ['a name with the country', { name: 'Acme Robotics', country: 'de' }, 'acme'],
    ['nothing', {}, undefined],
    ['blank text', { url: '', domain: ' ', name: '' }, undefined],
    ['an unknown profile url', { url: at('ghost') }, undefined],
    ['an unknown domain', { domain: 'ghost.example' }, undefined],
    ['an unknown name', { name: 'Ghost' }, undefined],
  ])('is answered by %s', async (_, query, id) => {
    expect(await found(query)).toBe(id)
  })

  it.each<[string, CompanyQuery, string | undefined]>([
    ['a url over a domain', { url: at('acme'), domain: 'birch.example' }, 'acme'],
    ['a url over an unknown domain', { url: at('acme'), domain: 'ghost.example' }, 'acme'],
    ['a url over a name and country', { url: at('acme'), name: 'Birch', country: 'GB' }, 'acme'],
    ['a domain over a name', { domain: 'birch.example', name: 'Acme Robotics' }, 'no-url'],
    ['a domain over a country', { domain: 'birch.example', country: 'US' }, 'no-url'],
  ])('is decided by its strongest identifier: %s', async (_, query, id) => {
    expect(await found(query)).toBe(id)
  })

  it.each<[string, CompanyQuery, string | undefined]>([
    ['a domain whose company has no profile', { url: at('ghost'), domain: 'birch.example' }, 'no-url'],
    [
      'not a domain whose company has another profile',
      { url: at('ghost'), domain: 'acme.example' },
      undefined,
    ],
    [
      'a domain whose company has a profile that does not compare',
      { url: at('999'), domain: 'group-fr.example' },
      'group-fr',
    ],
    [
      'not a domain whose company has another id on the network',
      { url: 'https://network.example/sales/company/999', domain: 'acme.example' },
      undefined,
    ],
    [
      'nor by name, once the domain is another company',
      { url: at('ghost'), domain: 'acme.example', name: 'Birch' },
      undefined,
    ],
    ['a name whose company has no profile', { url: at('ghost'), name: 'Birch' }, 'no-url'],
    ['not a name whose company has another profile', { url: at('ghost'), name: 'Acme Robotics' }, undefined],
    ['a name whose company has no domain', { domain: 'ghost.example', name: 'Cedar' }, 'no-domain'],
    ['not a name whose company has another domain', { domain: 'ghost.example', name: 'Birch' }, undefined],
    [
      'not a name that agrees with one of two only',
      { url: at('ghost'), domain: 'ghost.example', name: 'Cedar' },
      undefined,
    ],
  ])('with an unknown strong identifier finds by a weaker one %s', async (_, query, id) => {
    expect(await found(query)).toBe(id)
  })

  it.each<[string, CompanyQuery, string | undefined]>([
    ['a name of two companies', { name: 'Lumen Conseil' }, undefined],
    ['the one in its country', { name: 'Lumen Conseil', country: 'BE' }, 'two-be'],
    ['neither in another country', { name: 'Lumen Conseil', country: 'US' }, undefined],
    ['a company of unknown country in any', { name: 'Delta', country: 'JP' }, 'nowhere'],
    ['nothing when one of unknown country may be meant too', { name: 'Delta', country: 'FR' }, undefined],
    ['a profile url of two companies', { url: at('group') }, undefined],
    ['the one of them with the domain', { url: at('group'), domain: 'group-fr.example' }, 'group-fr'],
    ['the one of them with the name', { url: at('group'), name: 'Group Inc.' }, 'group-com'],
    ['the one of them in the country', { url: at('group'), country: 'FR' }, 'group-fr'],
    ['neither with a name of neither', { url: at('group'), name: 'Ghost' }, undefined],
  ])('finds nothing when it is ambiguous or contradictory: %s', async (_, query, id) => {
    expect(await found(query)).toBe(id)
  })

  it.each<[string, CompanyQuery, string | undefined]>([
    ['a free mailbox', { domain: 'jane@gmail.com', name: 'Acme Robotics' }, 'acme'],
    ['a placeholder for a domain', { domain: 'n/a', name: 'Acme Robotics' }, 'acme'],
    ['text that is no profile url', { url: 'https://acme.example', name: 'Acme Robotics' }, 'acme'],
    ['the profile of a person', { url: 'https://network.example/in/jane', domain: 'acme.example' }, 'acme'],
  ])('finds nothing by %s', async (_, query, id) => {
    expect(await found(query)).toBe(id)
  })

  it('returns every key of a record, with null for unknown values', async () => {
    expect(await catalogue.company({ domain: 'delta.example' })).toEqual({
      id: 'nowhere',
      name: 'Delta',
      cleaned_name: 'Delta',
      domain: 'delta.example',
      website: null,
      description: null,
      industry: null,
      industry_id: null,
      company_type: null,
      employee_range: null,
      headcount: null,
      headquarters: null,
      location: null,
      city: null,
      country: null,
      founded_year: null,
      revenue: null,
      revenue_currency: null,
      phone: null,
      network_id: null,
      network_url: null,
      company_profile_picture: null,
      technologies: [],
    })
  })

  it('is answered correctly among many at the same time', async () => {
    const domains = Array.from(
      { length: 500 },
      (_, n) => ['acme.example', 'birch.example', 'ghost.example'][n % 3] ?? '',
    )
    const answers = await Promise.all(domains.map((domain) => found({ domain })))
    expect(answers).toEqual(domains.map((_, n) => ['acme', 'no-url', undefined][n % 3]))
  })
})
