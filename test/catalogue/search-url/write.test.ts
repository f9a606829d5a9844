import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import type { DecodedSearch } from '../../../src/api/ports/ports.js'
import { decodeSearchUrl, encodeSearchUrl } from '../../../src/catalogue/search-url/decode.js'
import { tries } from '../../support/effort.js'
import { companyFilters, peopleFilters, sharedOf } from '../population.js'

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
const some = <T>(item: fc.Arbitrary<T>) => fc.uniqueArray(item, { minLength: 1, maxLength: 4 })
const names = fc.oneof(
  numbers,
  words.filter((text) => !/^\d+$/.test(text)),
)

/** Filters with any text, which stand in place of those of the random searches. */
const texts = fc.record(
  {
    keyword: words,
    job_titles: some(titles),
    excluded_past_titles: some(titles),
    included_locations: some(fc.constantFrom('105015875', 'geo:FR', 'FR', 'Germany', 'BE', '103644278')),
    excluded_industries: some(names),
    included_companies: some(names),
    past_companies: some(names),
    included_account_lists: some(numbers),
    excluded_account_lists: some(fc.uuid()),
    first_name: words,
    last_name: words,
  },
  { requiredKeys: [] },
)
const people = fc
  .tuple(peopleFilters, texts)
  .map(
    ([
      { included_accounts: _, excluded_accounts: __, company: ___, max_per_company: ____, ...filters },
      more,
    ]) => ({
      ...filters,
      ...more,
    }),
  )

const tenths = fc.integer({ min: 0, max: 2_000 }).map((number) => number / 10)
const revenue = fc
  .tuple(tenths, tenths, fc.constantFrom('USD', 'EUR'))
  .map(([one, other, revenue_currency]) => ({
    min_revenue: Math.min(one, other),
    max_revenue: Math.max(one, other),
    revenue_currency,
  }))
const companies = fc
  .tuple(
    companyFilters,
    fc.record({ keyword: words, excluded_industries: some(names) }, { requiredKeys: [] }),
  )
  .chain(([filters, more]) =>
    fc.option(revenue, { nil: {} }).map((range) => ({ ...sharedOf(filters), ...more, ...range })),
  )

const search = fc
  .oneof(
    fc.record({ kind: fc.constant('people' as const), filters: people }),
    fc.record({ kind: fc.constant('companies' as const), filters: companies }),
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
