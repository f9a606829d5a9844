import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { networkHosts } from '../../../src/api/values/url.js'
import { parseProfile } from '../../../src/identity/profile.js'
import { casesOf } from '../../support/fixtures.js'

const seed = Number(process.env.SEED ?? 20_260_310)

describe('a profile url', () => {
  it.each(casesOf<[string, Record<string, unknown>]>('catalogue/normalize/profile/is-parsed-from'))(
    'is parsed from %s',
    (url, profile) => {
      expect(parseProfile(url)).toEqual(profile)
    },
  )

  it.each(casesOf<string>('catalogue/normalize/profile/is-not-parsed-from'))(
    'is not parsed from "%s"',
    (url) => {
      expect(parseProfile(url)).toBeUndefined()
    },
  )

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
