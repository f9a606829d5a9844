import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { networkHosts } from '../../../src/api/values/network-url.js'
import { parseProfile } from '../../../src/catalogue/normalize/profile.js'

const seed = Number(process.env.SEED ?? 20_260_310)

describe('a profile url', () => {
  it.each([
    ['https://www.linkedin.com/company/acme', { kind: 'company', slug: 'acme' }],
    ['http://linkedin.com/company/Acme/', { kind: 'company', slug: 'acme' }],
    ['linkedin.com/company/acme?trk=x#y', { kind: 'company', slug: 'acme' }],
    ['//fr.linkedin.com/company/acme/about/', { kind: 'company', slug: 'acme' }],
    ['HTTPS://WWW.LINKEDIN.COM/COMPANY/ACME', { kind: 'company', slug: 'acme' }],
    ['https://network.example/company/soci%C3%A9t%C3%A9', { kind: 'company', slug: 'société' }],
    ['https://www.network.example/company/12345', { kind: 'company', id: '12345' }],
    ['https://www.linkedin.com/sales/company/12345?_ntb=x', { kind: 'company', id: '12345' }],
    ['https://www.linkedin.com/sales/company/12345/people', { kind: 'company', id: '12345' }],
    ['https://www.linkedin.com/in/Jane-Doe-1a2b/', { kind: 'person', slug: 'jane-doe-1a2b' }],
    ['https://de.linkedin.com/in/j%C3%BCrgen', { kind: 'person', slug: 'jürgen' }],
    ['https://www.linkedin.com/in/ACoAAAbCdE', { kind: 'person', id: 'ACoAAAbCdE' }],
    ['https://www.linkedin.com/sales/lead/ACwAAAbCdE,NAME_SEARCH,xYz', { kind: 'person', id: 'ACwAAAbCdE' }],
    ['https://www.linkedin.com/sales/lead/ACwAAAbCdE%2CNAME_SEARCH', { kind: 'person', id: 'ACwAAAbCdE' }],
  ])('is parsed from %s', (url, profile) => {
    expect(parseProfile(url)).toEqual(profile)
  })

  it.each([
    '',
    'acme',
    'acme.example',
    'https://acme.example/company/acme',
    'https://evil-linkedin.com/company/acme',
    'https://linkedin.com.evil.example/company/acme',
    'https://www.linkedin.com/',
    'https://www.linkedin.com/company/',
    'https://www.linkedin.com/company/%zz',
    'https://www.linkedin.com/feed/update/1',
    'https://www.linkedin.com/sales/search/company?query=x',
    'https://www.linkedin.com/search/results/people/?keywords=x',
  ])('is not parsed from "%s"', (url) => {
    expect(parseProfile(url)).toBeUndefined()
  })

  it('may have the hosts of a setting', () => {
    expect(parseProfile('https://net.test/company/acme', ['net.test'])).toEqual({
      kind: 'company',
      slug: 'acme',
    })
  })

  it('is parsed alike in every spelling', () => {
    const slug = fc.stringMatching(/^[a-z][a-z0-9-]{1,20}[a-z]$/)
    const spelling = fc.record({
      scheme: fc.constantFrom('', '//', 'http://', 'https://', 'HTTPS://'),
      front: fc.constantFrom('', 'www.', 'fr.', 'm.', 'WWW.'),
      host: fc.constantFrom(...networkHosts),
      room: fc.constantFrom('company', 'Company', 'in', 'IN'),
      upper: fc.boolean(),
      encoded: fc.boolean(),
      end: fc.constantFrom('', '/', '?x=1', '/?x=1', '#top', '/details/', '/about?x=/in/y'),
    })
    fc.assert(
      fc.property(slug, spelling, (name, { scheme, front, host, room, upper, encoded, end }) => {
        const written = upper ? name.toUpperCase() : name
        const path = encoded ? written.replaceAll('-', '%2D') : written
        const kind = room.toLowerCase() === 'in' ? 'person' : 'company'
        fc.pre(!/^AC[a-z]AA/.test(written))
        expect(parseProfile(`${scheme}${front}${host}/${room}/${path}${end}`)).toEqual({ kind, slug: name })
      }),
      { seed },
    )
  })
})
