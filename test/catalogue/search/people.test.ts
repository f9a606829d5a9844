import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PeopleFilters } from '../../../src/api/ports/ports.js'
import type { Catalogue } from '../../../src/catalogue/catalogue.js'
import { toSuppressible } from '../../../src/catalogue/suppression/identifiers.js'
import { suppressing } from '../../../src/catalogue/suppression/source.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { firstPerCompany, personMatches } from '../naive.js'
import { openEmpty, openWith, stillClock } from '../open.js'
import { few, peopleFilters, population } from '../population.js'
import { expectFound, searchesBy, walked } from '../walk.js'

const now = stillClock.now()
const spans = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })

/** Filters in which accounts stand by their ids. */
async function withIds(catalogue: Catalogue, filters: PeopleFilters): Promise<PeopleFilters> {
  const idsOf = async (domains: readonly string[] | undefined) =>
    domains &&
    (await Promise.all(domains.map(async (domain) => (await catalogue.company({ domain }))?.id ?? '')))
  const [included_accounts, excluded_accounts] = [
    await idsOf(filters.included_accounts),
    await idsOf(filters.excluded_accounts),
  ]
  return {
    ...filters,
    ...(included_accounts && { included_accounts }),
    ...(excluded_accounts && { excluded_accounts }),
  }
}

const search = (filters: PeopleFilters) => ({ kind: 'people', filters }) as const

describe('a search for people', () => {
  it('finds each match exactly once, in a stable order, and counts them', async () => {
    const asked = searchesBy(few(peopleFilters), 60, spans)
    await fc.assert(
      fc.asyncProperty(population, asked, async (some, searches) => {
        const catalogue = await openWith(some.companies, { people: some.people })
        for (const [filters, steps] of searches) {
          const matches = some.people.filter((person) => personMatches(person, some.companies, filters))
          const expected = firstPerCompany(matches, filters.max_per_company)
          const given = search(await withIds(catalogue, filters))
          const urls = expected.map((person) => person.network_profile_url)
          await expectFound(catalogue, given, steps, ({ lead }) => lead.network_profile_url, urls)
          const { total = expected.length } = await catalogue.find(given, { limit: 2, now })
          expect(total).toBe(expected.length)
        }
        await catalogue.close()
      }),
      { numRuns: tries(1, 5) },
    )
  })

  it('finds all who name no company, however few of each company are asked for', async () => {
    const people = [1, 2, 3].map((at) => ({ network_profile_url: `https://www.network.example/in/p${at}` }))
    const catalogue = await openWith([], { people })
    expect(await walked(catalogue, search({ max_per_company: 2 }), [1])).toHaveLength(3)
    await catalogue.close()
  })

  it('has others take the places of people who are suppressed', async () => {
    const people = Array.from({ length: 12 }, (_, at) => ({
      network_profile_url: `https://www.network.example/in/p${at}`,
      company_name: at % 2 === 0 ? 'Even' : 'Odd',
    }))
    const catalogue = await openWith([], { people })
    const urls = people.map((person) => person.network_profile_url)
    const keyOf = (url: string) => toSuppressible(url)?.key
    const suppressed = new Set([0, 3, 4, 7].map((at) => keyOf(urls[at] ?? '')))
    const find = async (keys: Iterable<string>) => new Set([...keys].filter((key) => suppressed.has(key)))
    const asked = search({ max_per_company: 2 })
    const source = suppressing(catalogue, find)
    const found = await walked(source, asked, [3, 1])
    expect(found.map(({ lead }) => lead.network_profile_url)).toEqual([1, 2, 5, 6].map((at) => urls[at]))
    expect(await source.count(asked, now)).toBe(4)
    await catalogue.close()
  })

  it.each([
    ['connections_of_profile', 'https://www.network.example/in/ada'],
    ['relationship', ['1']],
    ['follows_your_company', false],
    ['viewed_your_profile', true],
    ['with_shared_experiences', true],
    ['posted_on_linkedin', true],
    ['past_colleague', true],
  ])('is refused with the name of a filter that only the network supports: %s', async (name, value) => {
    const catalogue = await openEmpty()
    const filters = { first_name: 'Ada', [name]: value }
    const refusal = { status: 422, message: expect.stringContaining(name) }
    await expect(catalogue.count(search(filters), now)).rejects.toMatchObject(refusal)
    await expect(catalogue.find(search(filters), { limit: 1, now })).rejects.toMatchObject(refusal)
    await catalogue.close()
  })

  it('continues after the same person when others are added and changed', async () => {
    const person = (number: number, title: string) => ({
      network_profile_url: `https://www.network.example/in/p${number}`,
      title,
    })
    const catalogue = await openWith([], { people: [1, 2, 3, 4].map((number) => person(number, 'CEO')) })
    const ceos = search({ job_titles: ['ceo'] })
    const first = await catalogue.find(ceos, { limit: 2, now })
    await catalogue.importRecords('people', [
      person(5, 'CEO'),
      person(1, 'former CEO'),
      person(3, 'CEO and CTO'),
    ])
    const rest = await catalogue.find(ceos, { limit: 9, now, ...(first.next && { after: first.next }) })
    expect([...first.records, ...rest.records].map(({ lead }) => lead.network_profile_url)).toEqual(
      [1, 2, 3, 4, 5].map((number) => `https://www.network.example/in/p${number}`),
    )
    await catalogue.close()
  })

  it('follows changes of a person', async () => {
    const catalogue = await openEmpty()
    const url = 'https://www.network.example/in/ada'
    const stored = async (title: string, country: string, started_at: string, past: string) => {
      const past_positions = [{ title: past }]
      const person = { network_profile_url: url, title, country, started_at, past_positions }
      await catalogue.importRecords('people', [person])
    }
    await stored('CEO', 'FR', '2020-01-01', 'CTO')
    await stored('COO', 'DE', '2026-01-01', 'CEO')
    const counted = async (filters: PeopleFilters) => await catalogue.count(search(filters), now)
    expect(await counted({ job_titles: ['ceo'] })).toBe(0)
    expect(await counted({ past_titles: ['cto'] })).toBe(0)
    const others = { included_locations: ['DE'], years_in_current_position: ['1'] }
    expect(await counted({ job_titles: ['coo'], past_titles: ['ceo'], ...others })).toBe(1)
    await catalogue.close()
  })

  describe('among many people', () => {
    const total = 12_000
    const person = (_: unknown, number: number) => ({
      network_id: `ACoAA${String(number).padStart(30, '0')}`,
      title: number % 3 === 0 ? 'Sales Engineer' : 'Accountant',
      company_domain: number % 4 === 0 ? 'large.example' : number % 100 === 1 ? 'small.example' : undefined,
      function: number % 6 === 0 ? 'Sales' : 'Finance',
    })
    const catalogue = perFile(() => openWith([], { people: Array.from({ length: total }, person) }))
    const counted = async (filters: PeopleFilters) => await catalogue.count(search(filters), now)
    const large = { domain: 'large.example' }
    const small = { domain: 'small.example' }

    it('returns an exact count up to 10,000, and an estimate above', async () => {
      expect(await counted({ job_titles: ['accountant'] })).toBe(8_000)
      expect(Math.abs((await counted({})) / total - 1)).toBeLessThan(0.1)
    })

    it.each<[string, PeopleFilters, number]>([
      ['words at a large company', { company: large, job_titles: ['sales'] }, 1_000],
      ['words at a small company', { company: small, job_titles: ['sales'] }, 40],
      ['no words at a large company', { company: large, excluded_job_titles: ['sales'] }, 2_000],
      ['no words at a small company', { company: small, excluded_job_titles: ['sales'] }, 80],
      ['everybody of a large company', { company: large, job_titles: ['*'] }, 3_000],
      ['another filter at a small company', { company: small, functions: ['25'] }, 0],
    ])('finds and counts %s', async (_, filters, expected) => {
      expect(await counted(filters)).toBe(expected)
      const urls = (await walked(catalogue, search(filters), [700])).map(({ lead }) => JSON.stringify(lead))
      expect(urls).toHaveLength(expected)
    })

    it('accepts more accounts than can be checked one by one', async () => {
      const accounts = await Promise.all(
        [large, small].map(async (one) => (await catalogue.company(one))?.id ?? ''),
      )
      const others = Array.from({ length: 100_000 }, (_, number) => `account-${number}`)
      const included_accounts = [...others, ...accounts]
      expect(await counted({ included_accounts, job_titles: ['sales'] })).toBe(1_040)
      expect(await counted({ included_accounts: others })).toBe(0)
      expect(await counted({ excluded_accounts: included_accounts })).toBe(total - 3_120)
    })
  })
})
