import { describe, expect, it } from 'vitest'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'
import { openWith } from '../open.js'

describe('technologies', () => {
  const technology_details = [
    { slug: 'react-native', name: 'React Native', category: 'Mobile' },
    { slug: 'react', name: 'React', category: 'Frontend' },
    { slug: 'node-js', name: 'Node.js' },
    { slug: 'c++', name: 'C++' },
    { slug: 'c#', name: 'C#' },
    { slug: 'c', name: 'C' },
    { slug: 'preact', name: 'Preact' },
    { slug: 'google-analytics', name: 'Google Analytics' },
  ]
  const catalogue = perFile(() => openWith([{ domain: 'acme.example', technology_details }]))

  const slugs = async (query: string, limit = 20) =>
    (await catalogue.technologies(query, limit)).map(({ slug }) => slug)

  it.each(casesOf<[string, string[]]>('catalogue/records/technologies/are-found-by-best'))(
    'are found by %s, best match first',
    async (query, expected) => {
      expect(await slugs(query)).toEqual(expected)
    },
  )

  it('are all returned in the order of their slugs for an empty query', async () => {
    expect(await slugs('')).toEqual([...(await slugs(' '))].sort())
    expect(await slugs('')).toHaveLength(8)
  })

  it('are at most as many as the limit', async () => {
    expect(await slugs('react', 2)).toEqual(['react', 'react-native'])
    expect(await slugs('', 3)).toHaveLength(3)
  })

  it('have a name, and a category when it is known', async () => {
    expect(await catalogue.technologies('react', 1)).toEqual([
      { slug: 'react', name: 'React', category: 'Frontend' },
    ])
    expect(await catalogue.technologies('c++', 1)).toEqual([{ slug: 'c++', name: 'C++', category: null }])
  })
})

it('imports the technologies of thousands of companies at once', async () => {
  const count = tries(2_200, 4_500)
  const catalogue = await openWith(
    Array.from({ length: count }, (_, number) => ({
      domain: `c${number}.example`,
      name: `Company ${number}`,
      technology_details: [{ slug: 'react', name: 'React', category: 'Frontend' }],
      headcount_history: [{ date: '2026-03-01', headcount: number }],
    })),
  )
  expect(await catalogue.stats()).toMatchObject({ companies: count, technologies: 1 })
  await catalogue.close()
})

describe('the technologies of a company', () => {
  const catalogue = perFile(() =>
    openWith([
      {
        domain: 'acme.example',
        technology_details: [
          { slug: 'redis', name: 'Redis', confidence: 0.4 },
          { slug: 'react', name: 'React', confidence: 0.9 },
        ],
      },
      { domain: 'birch.example', technologies: ['react'] },
      { domain: 'bare.example' },
    ]),
  )
  const technologiesAt = (domain: string) => catalogue.stack({ domain })

  it('are returned by falling confidence, which is 1 where only its slug was imported', async () => {
    expect(await technologiesAt('acme.example')).toEqual([
      { name: 'React', slug: 'react', confidence: 0.9 },
      { name: 'Redis', slug: 'redis', confidence: 0.4 },
    ])
    expect(await technologiesAt('birch.example')).toEqual([{ name: 'React', slug: 'react', confidence: 1 }])
  })

  it('are an empty list where it has none, and undefined for an unknown company', async () => {
    expect([await technologiesAt('bare.example'), await technologiesAt('ghost.example')]).toEqual([
      [],
      undefined,
    ])
  })
})
