import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EngagerFilters } from '../../../src/api/ports/ports.js'
import type { Fields } from '../../../src/api/values/objects.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openWith, stillClock } from '../open.js'
import { limits, seed, walked } from '../walk.js'

const now = stillClock.now()
const post_url = 'https://www.network.example/posts/7000001'
const search = (engagement: EngagerFilters['engagement'], url = post_url) =>
  ({ kind: 'engagers', filters: { post_url: url, engagement } }) as const

const profile = (name: string) => `https://www.network.example/in/${name}`

/** A person whom posts may know by name and by id. */
const person = (number: number): Fields => ({
  full_name: `Ada Byron ${number}`,
  network_id: `ACoAAB${number}`,
  network_profile_url: profile(`p${number}`),
  company_domain: 'acme.example',
})

describe('the engagers of a post', () => {
  const engagers = [
    { network_profile_url: profile('p0'), engagement: 'reaction' },
    { network_profile_url: profile('ACoAAB0'), engagement: 'comment' },
    { network_profile_url: profile('stranger'), engagement: 'reaction' },
  ]
  const another = { post_url: `${post_url}2`, engagers: [{ network_profile_url: profile('elsewhere') }] }
  const catalogue = perFile(() =>
    openWith([{ domain: 'acme.example', name: 'Acme' }], {
      people: [person(0)],
      posts: [{ post_url, engagers }, another],
    }),
  )

  it('are leads with their company when the catalogue has them by name or id, without duplicates', async () => {
    const [known, stranger, ...more] = await walked(catalogue, search('all'))
    expect(known).toMatchObject({
      lead: { full_name: 'Ada Byron 0', network_profile_url: profile('p0'), status: 'QUALIFIED' },
      company: { name: 'Acme', domain: 'acme.example' },
    })
    expect(stranger?.lead.network_profile_url).toBe(profile('stranger'))
    expect(more).toEqual([])
  })

  it('have a profile url and otherwise null values when the catalogue does not have them', async () => {
    const [known, stranger] = await walked(catalogue, search('all'))
    expect(Object.keys(stranger?.lead ?? {})).toEqual(Object.keys(known?.lead ?? {}))
    expect(stranger?.company).toBeNull()
    expect(Object.entries(stranger?.lead ?? {}).filter(([, value]) => value !== null)).toEqual([
      ['phones', []],
      ['network_profile_url', profile('stranger')],
      ['status', 'QUALIFIED'],
      ['rejection_reason', []],
    ])
  })

  it.each<[EngagerFilters['engagement'], number]>([
    ['reactions', 2],
    ['comments', 1],
    ['all', 2],
  ])('are filtered by %s', async (engagement, total) => {
    expect(await catalogue.count(search(engagement), now)).toBe(total)
  })

  it('are found by any spelling of the url', async () => {
    for (const url of [
      'network.example/posts/7000001/',
      `${post_url}?utm_source=share`,
      'HTTP://Network.example/posts/7000001#top',
    ])
      expect(await catalogue.count(search('all', url), now)).toBe(2)
  })

  it('are an empty list for an unknown post', async () => {
    const unknown = search('all', `${post_url}9`)
    expect(await catalogue.count(unknown, now)).toBe(0)
    expect(await catalogue.find(unknown, { limit: 9, now })).toEqual({ records: [] })
  })
})

it('a search for engagers finds each one of random posts exactly once, and counts them', async () => {
  const engager = fc.record({
    name: fc.constantFrom('p0', 'ACoAAB0', 'p1', 'p2', 'ACoAAB2', 'ACoAAB3', 'x', 'y'),
    engagement: fc.constantFrom('reaction', 'comment'),
  })
  const meant = (name: string) => (name === 'p0' || name === 'p2' ? `ACoAAB${name.slice(1)}` : name)
  await fc.assert(
    fc.asyncProperty(
      fc.array(engager, { maxLength: 12 }),
      fc.constantFrom('reactions', 'comments', 'all'),
      limits,
      async (engagers, engagement, steps) => {
        const given = engagers.map(({ name, ...rest }) => ({ network_profile_url: profile(name), ...rest }))
        const posts = [{ post_url, engagers: given }]
        const catalogue = await openWith([], { people: [person(0), person(2)], posts })
        const chosen = engagers.filter((one) => engagement === 'all' || `${one.engagement}s` === engagement)
        const expected = new Set(chosen.map(({ name }) => meant(name)))
        const found = await walked(catalogue, search(engagement), steps)
        expect(found.length).toBe(expected.size)
        expect(new Set(found.map(({ lead }) => lead.full_name ?? lead.network_profile_url)).size).toBe(
          expected.size,
        )
        expect(await catalogue.count(search(engagement), now)).toBe(expected.size)
        await catalogue.close()
      },
    ),
    { numRuns: tries(6, 30), seed },
  )
})
