import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import type { DecodedSearch } from '../../../src/api/ports/ports.js'
import {
  companySizes,
  companyTypes,
  functions,
  seniorities,
  years,
} from '../../../src/api/schemas/enumerations.js'
import { decodeSearchUrl, encodeSearchUrl } from '../../../src/catalogue/search-url/decode.js'
import { tries } from '../../support/effort.js'

const seed = Number(process.env.SEED ?? 20_260_311)

const words = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.stringMatching(/^[a-z(),:%'"*&=+#!~ é-]{1,30}$/),
    fc.constantFrom(
      'VP, Sales (EMEA)',
      '50%25',
      'a,selectionType:EXCLUDED)',
      '"quoted"',
      'R&D + c#',
      '株式会社',
    ),
  )
  .map((text) => text.replaceAll('\0', '').trim())
  .filter((text) => text !== '')
const titles = words.filter((text) => !/(?:^|\s)(?:AND|OR|NOT)(?:\s|$)/.test(text))
const numbers = fc.integer({ min: 1, max: 9e8 }).map(String)
const places = fc.constantFrom('105015875', 'geo:FR', 'FR', 'Germany', 'BE', '103644278')
const industries = fc.oneof(
  numbers,
  words.filter((text) => !/^\d+$/.test(text)),
)
const companies = fc.oneof(
  numbers,
  words.filter((text) => !/^\d+$/.test(text)),
)
const some = <T>(item: fc.Arbitrary<T>) => fc.uniqueArray(item, { minLength: 1, maxLength: 4 })
const idOf = (labels: Readonly<Record<string, unknown>>) => some(fc.constantFrom(...Object.keys(labels)))
const sizes = some(fc.constantFrom(...companySizes))

const people = fc.record(
  {
    keyword: words,
    job_titles: some(titles),
    excluded_job_titles: some(titles),
    past_titles: some(titles),
    excluded_past_titles: some(titles),
    included_locations: some(places),
    excluded_locations: some(places),
    company_headquarters: some(places),
    included_industries: some(industries),
    excluded_industries: some(industries),
    included_companies: some(companies),
    excluded_companies: some(companies),
    past_companies: some(companies),
    functions: idOf(functions),
    seniority_levels: idOf(seniorities),
    years_of_experience: idOf(years),
    years_at_current_company: idOf(years),
    years_in_current_position: idOf(years),
    company_size: sizes,
    company_type: idOf(companyTypes),
    included_account_lists: some(numbers),
    excluded_account_lists: some(fc.uuid()),
    first_name: words,
    last_name: words,
  },
  { requiredKeys: [] },
)

const revenue = fc.integer({ min: 0, max: 2_000 }).map((tenths) => tenths / 10)
const companyFilters = fc
  .record(
    {
      keyword: words,
      included_locations: some(places),
      excluded_locations: some(places),
      included_industries: some(industries),
      excluded_industries: some(industries),
      company_size: sizes,
      revenue: fc.tuple(revenue, revenue, fc.constantFrom('USD', 'EUR')),
    },
    { requiredKeys: [] },
  )
  .map(({ revenue: range, ...filters }) => {
    if (!range) return filters
    const [one, other, revenue_currency] = range
    return {
      ...filters,
      min_revenue: Math.min(one, other),
      max_revenue: Math.max(one, other),
      revenue_currency,
    }
  })

const search = fc
  .oneof(
    fc.record({ kind: fc.constant('people' as const), filters: people }),
    fc.record({ kind: fc.constant('companies' as const), filters: companyFilters }),
  )
  .filter(({ filters }) => Object.keys(filters).length > 0) as fc.Arbitrary<DecodedSearch>

describe('the url of a search', () => {
  it('decodes to the same search', () => {
    fc.assert(
      fc.property(search, (one) => {
        const url = encodeSearchUrl(one)
        expect(url).not.toBeNull()
        expect(decodeSearchUrl(url ?? '', one.kind)).toEqual(one)
      }),
      { seed, numRuns: tries(100, 1_000) },
    )
  })

  it('is accepted by the operations', async () => {
    const [leads, accounts] = await Promise.all([shapeOf('leads.extract'), shapeOf('accounts.extract')])
    fc.assert(
      fc.property(search, (one) => {
        const [{ input }, others] =
          one.kind === 'people'
            ? [leads, {}]
            : [accounts, { name: 'x', webhook_url: 'https://hooks.example/x' }]
        expect(input.safeParse({ search_url: encodeSearchUrl(one), ...others }).success).toBe(true)
      }),
      { seed, numRuns: tries(25, 200) },
    )
  })

  it("has the form of the network's own urls", () => {
    const filters = { keyword: 'solar energy', functions: ['25'], excluded_companies: ['1035', 'A (B)'] }
    expect(encodeSearchUrl({ kind: 'people', filters })).toBe(
      'https://www.network.example/sales/search/people?query=(filters%3AList((type%3AFUNCTION%2Cvalues%3AList(' +
        '(id%3A25%2Ctext%3ASales%2CselectionType%3AINCLUDED)))%2C(type%3ACURRENT_COMPANY%2Cvalues%3AList(' +
        '(id%3Aurn%253Ali%253Aorganization%253A1035%2CselectionType%3AEXCLUDED)%2C' +
        '(text%3AA%2520%2528B%2529%2CselectionType%3AEXCLUDED))))%2Ckeywords%3Asolar%2520energy)',
    )
  })

  it('contains the number of the company whose people are searched', () => {
    const company = { url: 'https://network.example/company/1035', domain: undefined }
    const url = encodeSearchUrl({ kind: 'people', filters: { job_titles: ['CTO'], company } }) ?? ''
    expect(decodeSearchUrl(url, 'people').filters).toEqual({
      job_titles: ['CTO'],
      included_companies: ['1035'],
    })
  })

  it('omits empty lists', () => {
    const url =
      encodeSearchUrl({ kind: 'people', filters: { keyword: 'x', functions: [], job_titles: [] } }) ?? ''
    expect(decodeSearchUrl(url, 'people').filters).toEqual({ keyword: 'x' })
  })

  it.each<[string, DecodedSearch]>([
    [
      'a filter that urls do not have',
      { kind: 'people', filters: { keyword: 'x', posted_on_linkedin: true } },
    ],
    ['accounts by their ids here', { kind: 'people', filters: { included_accounts: ['a'] } }],
    [
      'a company without a number',
      { kind: 'people', filters: { keyword: 'x', company: { domain: 'a.example' } } },
    ],
    [
      'a company beside companies',
      { kind: 'people', filters: { included_companies: ['Acme'], company: { networkId: '7' } } },
    ],
    ['an unknown place', { kind: 'people', filters: { included_locations: ['geo:XX.99'] } }],
    ['a title that is an expression', { kind: 'people', filters: { job_titles: ['CEO OR CFO'] } }],
    ['a broken character', { kind: 'people', filters: { keyword: 'a\ud800' } }],
    ['the revenue that means no upper end', { kind: 'companies', filters: { max_revenue: 1_001 } }],
    ['more than a url can hold', { kind: 'companies', filters: { keyword: 'é'.repeat(5_000) } }],
    ['no filter', { kind: 'companies', filters: {} }],
  ])('is null for %s', (_, one) => {
    expect(encodeSearchUrl(one)).toBeNull()
  })
})
