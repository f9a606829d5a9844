import fc from 'fast-check'
import { getDomain } from 'tldts'
import { describe, expect, it } from 'vitest'
import { toDomain } from '../../../src/catalogue/normalize/domain.js'
import { isLong } from '../../support/effort.js'

const seed = Number(process.env.SEED ?? 20_260_310)

describe('the registrable domain', () => {
  it.each([
    ['acme.example', 'acme.example'],
    ['ACME.Example', 'acme.example'],
    ['  acme.example ', 'acme.example'],
    ['www.acme.example', 'acme.example'],
    ['acme.example.', 'acme.example'],
    ['https://www.Acme.example/about?x=1#top', 'acme.example'],
    ['//acme.example/pricing', 'acme.example'],
    ['http://user:secret@acme.example:8080/', 'acme.example'],
    ['acme.example:443', 'acme.example'],
    ['shop.acme.example/cart', 'acme.example'],
    ['jane.doe@acme.example', 'acme.example'],
    ['mailto:jane@acme.example', 'acme.example'],
    ['Jane Doe <jane@mail.acme.example>', 'acme.example'],
    ['www.acme.co.uk', 'acme.co.uk'],
    ['https://shop.acme.com.au/', 'acme.com.au'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['https://BÜCHER.example/x', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['b%C3%BCcher.example', 'xn--bcher-kva.example'],
    ['acme.github.io', 'acme.github.io'],
    ['github.io', 'github.io'],
    ['gmail.com', 'gmail.com'],
    ['www.com', 'www.com'],
  ])('of %s is %s', (text, domain) => {
    expect(toDomain(text)).toBe(domain)
  })

  it.each([
    'acme.co.uk,',
    'acme.co.uk;',
    '"acme.co.uk"',
    '(acme.co.uk)',
    '<acme.co.uk>',
    '\u200bacme.co.uk',
    'acme.co.uk\u00a0',
    'http:/acme.co.uk',
    'https:acme.co.uk',
    'http//acme.co.uk',
    'https://https://acme.co.uk/about',
    'www acme.co.uk',
    'Website: acme.co.uk',
    '[acme.co.uk](https://acme.co.uk)',
    'acme.co.uk, acme.fr',
    'https://acme.co.uk | https://acme.co.uk/fr',
    'acme.co.uk (main site)',
  ])('is found in %j, as people write it', (text) => {
    expect(toDomain(text)).toBe('acme.co.uk')
  })

  it.each(['jane@gmail.com', 'jane@GoogleMail.com', 'mailto:jane@hotmail.co.uk', 'jane@web.de'])(
    '%s says nothing: a free mailbox',
    (text) => {
      expect(toDomain(text)).toBeUndefined()
    },
  )

  it.each([
    '',
    ' ',
    'n/a',
    '-',
    'none',
    'acme',
    'localhost',
    'http://localhost:3000/',
    '192.168.0.1',
    'http://[::1]/',
    'Acme Inc.',
    'acme example',
    'Node.js is great',
    'ask bob at acme.example',
    'http:// www',
    'co.uk',
    'http://',
    '@',
    'jane@',
    'a..example',
    '.example',
    '%zz.example',
  ])('does not exist in "%s"', (text) => {
    expect(toDomain(text)).toBeUndefined()
  })

  it('is the domain itself when that is registrable', () => {
    // To make the first path of fast-check takes half a second.
    const urls = isLong ? fc.webUrl() : fc.domain().map((host) => `https://${host}/acme?a=b`)
    fc.assert(
      fc.property(fc.oneof(urls, fc.domain(), fc.emailAddress(), fc.string()), (text) => {
        const domain = toDomain(text)
        expect(domain === undefined ? undefined : toDomain(domain)).toBe(domain)
      }),
      { seed },
    )
  })

  it('agrees with the public-suffix list, also where the list is not loaded', () => {
    const host = fc.tuple(
      fc.constantFrom('acme', 'a', 'x-1', 'co', 'com', 'blogspot'),
      fc.constantFrom(
        'com',
        'net',
        'org',
        'dev',
        'app',
        'eu',
        'de',
        'ch',
        'info',
        'example',
        'fr',
        'co.uk',
        'io',
      ),
    )
    fc.assert(
      fc.property(host, ([name, suffix]) => {
        expect(toDomain(`${name}.${suffix}`) ?? null).toBe(getDomain(`${name}.${suffix}`, { validHosts: [] }))
      }),
      { seed },
    )
  })
})
