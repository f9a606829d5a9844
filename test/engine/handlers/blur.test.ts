import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Account } from '../../../src/api/ports/ports.js'
import { blurCompany } from '../../../src/engine/handlers/intents.js'
import { isLong } from '../../support/effort.js'
import { accountOf } from '../../support/engine.js'

/** A company of which nothing is known. */
const nothing: Account = {
  ...(Object.fromEntries(Object.keys(accountOf('')).map((name) => [name, null])) as unknown as Account),
  id: '1',
  technologies: [],
}

/** All pieces of three characters of a text, in lower case. */
const pieces = (text: string): string[] => {
  const characters = [...text.toLowerCase()]
  return characters.slice(2).map((_, at) => characters.slice(at, at + 3).join(''))
}

describe('a blurred company', () => {
  it('shows the first character of what identifies it, and the rest unchanged', () => {
    const use = { technology_name: 'React', confidence: 'high', job_mentions: 3 } as const
    const account = {
      ...nothing,
      name: 'Étoile Data SAS',
      domain: 'etoile-data.example',
      website: 'https://www.etoile-data.example/',
      network_url: 'https://www.network.example/company/etoile',
      industry: 'Software Development',
      location: '12 rue Étoile, Lyon, France',
      city: 'Lyon',
      country: 'FR',
    }
    expect(blurCompany(account, [use])).toEqual({
      name: 'É•••',
      domain: 'e•••',
      website: 'e•••',
      network_url: 'n•••',
      industry: 'Software Development',
      location: 'Lyon, FR',
      city: 'Lyon',
      country: 'FR',
      technologies_found: [use],
    })
  })

  it('stays null where nothing is known', () => {
    const { technologies_found, ...rest } = blurCompany(nothing, [])
    expect(Object.values(rest)).toEqual(Array(8).fill(null))
    expect(technologies_found).toEqual([])
  })

  it('keeps no three characters of its name, domain or addresses, whatever they are', () => {
    const text = fc.string({ minLength: 3, maxLength: 30, unit: 'grapheme' })
    // To make the first path of fast-check takes half a second.
    const urls = isLong ? fc.webUrl() : fc.domain().map((host) => `https://${host}/acme?a=b`)
    const url = fc.oneof(urls, text)
    const identity = fc.record({ name: text, domain: text, website: url, network_url: url })
    fc.assert(
      fc.property(identity, text, (identity, location) => {
        const blur = blurCompany({ ...nothing, ...identity, location }, [])
        const shown = Object.values(blur).filter((value) => typeof value === 'string')
        const told = Object.values({ ...identity, location })
          .flatMap(pieces)
          .filter((piece) => piece !== '•••')
        expect(told.filter((piece) => shown.some((value) => value.toLowerCase().includes(piece)))).toEqual([])
        for (const key of ['name', 'domain', 'website', 'network_url'] as const)
          expect(blur[key]).toMatch(/^[\p{L}\p{N}]?•••$/u)
      }),
    )
  })
})
