import { describe, expect, it } from 'vitest'
import type { PeopleFilters } from '../../../src/api/ports/ports.js'
import { perFile } from '../../support/each.js'
import { openWith, stillClock } from '../open.js'

const now = stillClock.now()
const profile = (slug: string) => `https://www.network.example/company/${slug}`

const companies = [
  { domain: 'acme.example', name: 'Acme', network_id: '11', network_url: profile('acme') },
  { domain: 'acme-works.example', name: 'Acme', network_id: '12', network_url: profile('acme-works') },
  { domain: 'birch.example', name: 'Birch', network_id: '13', network_url: profile('birch') },
  { domain: 'cedar.example', name: 'Cedar' },
  // One owner with one profile and several domains.
  { domain: 'delta.example', name: 'Delta', network_url: profile('delta') },
  { domain: 'delta.app', name: 'Delta App', network_url: profile('delta') },
  { domain: 'booking.example', name: 'Booking.example' },
]
const people = [
  { company_domain: 'acme.example', past_positions: [{ company_name: 'Birch', company_network_id: '13' }] },
  { company_domain: 'acme-works.example', past_positions: [{ company_name: 'Acme' }] },
  { company_domain: 'birch.example', past_positions: [{ company_name: 'Acme', company_network_id: '11' }] },
  { company_domain: 'cedar.example', past_positions: [{ company_name: 'Birch' }] },
  { company_domain: 'delta.example', past_positions: [{ company_name: 'Monday.example' }] },
  { company_name: 'Monday.example' },
].map((person, at) => ({ network_profile_url: `https://www.network.example/in/p${at}`, ...person }))

const catalogue = perFile(() => openWith(companies, { people }))

/** Returns the numbers of the people that a search finds; counting must agree. */
async function numbersOf(filters: PeopleFilters): Promise<number[]> {
  const search = { kind: 'people', filters } as const
  const { records } = await catalogue.find(search, { limit: 20, now })
  expect(await catalogue.count(search, now)).toBe(records.length)
  return records.map(({ lead }) => Number(lead.network_profile_url?.slice(-1)))
}
const refusalOf = async (filters: PeopleFilters) =>
  await catalogue.count({ kind: 'people', filters }, now).then(
    () => 'no refusal',
    ({ status, message }: { status: number; message: string }) => `${status} ${message}`,
  )

describe('companies in filters', () => {
  it.each([
    ['a domain', 'acme.example'],
    ['a website', 'https://www.Acme.example/about'],
    ['an email address', 'sales@acme.example'],
    ['a profile URL', profile('acme')],
    ['a profile URL as pasted', 'linkedin.com/company/ACME/?trk=x'],
    ['a premium profile URL', 'https://www.linkedin.com/sales/company/11'],
    ['a network id', '11'],
  ])('include and exclude the people of the one company with %s', async (_, text) => {
    expect(await numbersOf({ included_companies: [text] })).toEqual([0])
    expect(await numbersOf({ excluded_companies: [text] })).toEqual([1, 2, 3, 4, 5])
    expect(await numbersOf({ past_companies: [text] })).toEqual([2])
  })

  it('find past positions without a network id by the name that only one company has', async () => {
    expect(await numbersOf({ past_companies: ['birch.example'] })).toEqual([0, 3])
    expect(await numbersOf({ past_companies: ['acme.example'] })).toEqual([2])
    expect(await numbersOf({ past_companies: ['Acme'] })).toEqual([1, 2])
    expect(await numbersOf({ past_companies: ['cedar.example'] })).toEqual([])
  })

  it('are still found by names, also by names that look like a domain', async () => {
    expect(await numbersOf({ included_companies: ['Acme', 'cedar.example'] })).toEqual([0, 1, 3])
    expect(await numbersOf({ included_companies: ['Monday.example'] })).toEqual([5])
    expect(await numbersOf({ past_companies: ['Monday.example'] })).toEqual([4])
    expect(await numbersOf({ included_companies: ['Nobody Ltd'] })).toEqual([])
    expect(await numbersOf({ included_companies: ['4711'] })).toEqual([])
  })

  it('are refused with their names when none of those to include is known', async () => {
    const unknown = ['nobody.example', profile('nobody'), profile('delta')]
    const named = "'nobody.example', 'https://www.network.example/company/nobody', "
    for (const field of ['included_companies', 'past_companies'] as const)
      expect(await refusalOf({ [field]: unknown })).toBe(
        `422 ${field}: no company is known as ${named}'https://www.network.example/company/delta'`,
      )
    const many = Array.from({ length: 12 }, (_, at) => `n${at}.example`)
    expect(await refusalOf({ included_companies: many })).toMatch(/'n9.example' and 2 more$/)
  })

  it.each([
    'https://www.linkedin.com/in/ada',
    'https://www.linkedin.com/search/results/people/',
    'https://x',
  ])('are refused when an address is none of a company: %s', async (text) => {
    for (const field of ['included_companies', 'excluded_companies', 'past_companies'] as const)
      expect(await refusalOf({ [field]: ['acme.example', text] })).toBe(
        `422 ${field}: '${text}' is neither the profile of a company nor a website`,
      )
  })

  it('exclude nobody when they are unknown, and are named', async () => {
    const crm = Array.from({ length: 500 }, (_, at) =>
      at % 100 === 0 ? 'birch.example' : at % 2 ? `crm${at}.example` : profile(`crm${at}`),
    )
    expect(await numbersOf({ excluded_companies: crm })).toEqual([0, 1, 3, 4, 5])
    const filters = {
      excluded_companies: [...crm, 'Booking.example'],
      included_companies: ['acme.example', 'x.example'],
    }
    const unknown = await catalogue.unknownCompanies(filters)
    expect(unknown.included_companies).toEqual(['x.example'])
    expect(unknown.excluded_companies).toEqual(crm.filter((text) => text !== 'birch.example'))
    expect(await catalogue.unknownCompanies({ past_companies: ['birch.example', 'Acme', '11'] })).toEqual({})
  })

  it('are resolved in search URLs too', async () => {
    const written = `(filters:List((type:CURRENT_COMPANY,values:List((text:acme.example),(text:${encodeURIComponent(profile('birch'))},selectionType:EXCLUDED))),(type:PAST_COMPANY,values:List((text:birch.example)))))`
    const search = await catalogue.searchAt(
      `https://www.linkedin.com/sales/search/people?query=${encodeURIComponent(written)}`,
      'people',
    )
    expect(await numbersOf(search.filters as PeopleFilters)).toEqual([0])
  })
})
