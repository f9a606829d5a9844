import fc from 'fast-check'
import { getDomain } from 'tldts'
import { describe, expect, it } from 'vitest'
import { toDomain } from '../../../src/identity/value-kinds.js'
import { isLong } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'

const seed = Number(process.env.SEED ?? 20_260_310)

describe('the registrable domain', () => {
  it.each(casesOf<[string, string]>('catalogue/normalize/domain/of-is'))('of %s is %s', (text, domain) => {
    expect(toDomain(text)).toBe(domain)
  })

  it.each(casesOf<string>('catalogue/normalize/domain/is-found-in-as'))(
    'is found in %j, as people write it',
    (text) => {
      expect(toDomain(text)).toBe('acme.co.uk')
    },
  )

  it.each(['jane@gmail.com', 'jane@GoogleMail.com', 'mailto:jane@hotmail.co.uk', 'jane@web.de'])(
    '%s says nothing: a free mailbox',
    (text) => {
      expect(toDomain(text)).toBeUndefined()
    },
  )

  it.each(casesOf<string>('catalogue/normalize/domain/does-not-exist-in'))(
    'does not exist in "%s"',
    (text) => {
      expect(toDomain(text)).toBeUndefined()
    },
  )

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
    const suffixes = 'com net org dev app eu de ch info example fr co.uk io'.split(' ')
    const host = fc.tuple(
      fc.constantFrom('acme', 'a', 'x-1', 'co', 'com', 'blogspot'),
      fc.constantFrom(...suffixes),
    )
    fc.assert(
      fc.property(host, ([name, suffix]) => {
        expect(toDomain(`${name}.${suffix}`) ?? null).toBe(getDomain(`${name}.${suffix}`, { validHosts: [] }))
      }),
      { seed },
    )
  })
})
