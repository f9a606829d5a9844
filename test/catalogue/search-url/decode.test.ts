import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../src/api/calls/errors.js'
import { decodeSearchUrl } from '../../../src/catalogue/search-url/decode.js'
import { tries } from '../../support/effort.js'
import { casesOf, rowsOf } from '../../support/fixtures.js'

/** Urls as the address bar shows them: the nested query encoded once, texts in it twice, parentheses bare. */

const host = 'https://www.linkedin.com'

/** A premium people search. */
const people = (query: string): string => `${host}/sales/search/people?query=${encodeURIComponent(query)}`
/** A premium company search. */
const companies = (query: string): string => `${host}/sales/search/company?query=${encodeURIComponent(query)}`
/** A plain people search. */
const plainPeople = (query: string): string => `${host}/search/results/people/?${query}`
/** A plain company search. */
const plainCompanies = (query: string): string => `${host}/search/results/companies/?${query}`

/** A query of one filter. */
const filter = (type: string, ...values: string[]): string =>
  `(filters:List((type:${type},values:List(${values.map((value) => `(${value})`).join(',')}))))`

const pages = { people, companies, plainPeople, plainCompanies }

/** A url of a fixture: whole, or the name of a page and its query. */
function urlOf(text: string): string {
  const [name = '', query = ''] = text.split(/ (.*)/)
  return name in pages ? pages[name as keyof typeof pages](query) : text
}

type Of = 'people' | 'companies'

const refuses = (url: string, of: Of, status: number, message: string) =>
  expect(() => decodeSearchUrl(url, of)).toThrow(expect.objectContaining({ status, message }))

describe('a search url', () => {
  it.each(rowsOf('search-urls/decoded.tsv'))('is decoded to %s: %s', (of, _, url = '', filters = '') => {
    expect(decodeSearchUrl(urlOf(url), of as Of)).toEqual({ kind: of, filters: JSON.parse(filters) })
  })

  it.each(rowsOf('search-urls/refused.tsv'))(
    'is refused for %s: %s',
    (of, _, url = '', status, message = '') => {
      refuses(urlOf(url), of as Of, Number(status), message)
    },
  )

  it.each([
    ['a url', people(`(keywords:${'x'.repeat(40_000)})`), 400, 'must be a valid people search URL'],
    [
      'values',
      people(filter('CURRENT_TITLE', ...Array.from({ length: 1_001 }, (_, at) => `text:t${at}`))),
      422,
      ': CURRENT_TITLE has too many values, 1000 at most',
    ],
    [
      'places',
      people(filter('REGION', ...Array.from({ length: 201 }, (_, at) => `id:${at},text:France`))),
      422,
      ': REGION has too many places, 200 at most',
    ],
    [
      'a text',
      people(filter('CURRENT_TITLE', `text:${'x'.repeat(501)}`)),
      422,
      ': CURRENT_TITLE must be at most 500 characters',
    ],
    [
      'keywords',
      plainPeople(`keywords=${'x'.repeat(5_001)}`),
      422,
      ': keywords must be at most 5000 characters',
    ],
  ] as [string, string, number, string][])(
    'is refused where it is too much: %s',
    (_, url, status, message) => {
      refuses(url, 'people', status, `search_url${status === 400 ? ' ' : ''}${message}`)
    },
  )
})

const seed = Number(process.env.SEED ?? 20_260_312)

const whole = [
  people(
    '(recentSearchParam:(id:1,doLogHistory:true),filters:List((type:REGION,values:List((id:105015875,text:France,selectionType:INCLUDED)))),keywords:a%20(b))',
  ),
  people(
    filter(
      'CURRENT_COMPANY',
      'id:urn%3Ali%3Aorganization%3A1,text:A%2C%20(B),selectionType:EXCLUDED,parent:(id:0)',
    ),
  ),
  companies('(filters:List((type:ANNUAL_REVENUE,rangeValue:(min:1,max:5),selectedSubFilter:USD)))'),
  decodeURIComponent(people(filter('CURRENT_TITLE', 'text:VP, Sales (EMEA),selectionType:INCLUDED'))),
  plainPeople('geoUrn=%5B%22105015875%22%5D&keywords=a+b&titleFreeText=CEO%20OR%20CFO&origin=X'),
  plainCompanies('companySize=%5B%22B%22%5D&industryCompanyVertical=%5B%2296%22%5D'),
]
const pieces = casesOf<string>('catalogue/search-url/decode/pieces')

/** A url with a few of its characters cut out, and pieces put in. */
const mutated = fc
  .tuple(
    fc.constantFrom(...whole),
    fc.array(fc.tuple(fc.nat(400), fc.nat(5), fc.constantFrom('', ...pieces)), { maxLength: 5 }),
  )
  .map(([url, edits]) =>
    edits.reduce((text, [at, cut, piece]) => text.slice(0, at) + piece + text.slice(at + cut), url),
  )
const random = fc
  .tuple(
    fc.constantFrom('people?query=', 'company?query=(', 'people?', 'people?query=(filters:List(('),
    fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 5 })), { maxLength: 25 }),
  )
  .map(([page, parts]) => `${host}/sales/search/${page}${parts.join('')}`)

/** What reading a url came to: a search, a refusal, or something that must not be. */
function outcomeOf(url: string, of: 'people' | 'companies'): unknown {
  try {
    const { kind, filters } = decodeSearchUrl(url, of)
    const isSearch = kind === of && Object.keys(filters).length > 0
    return isSearch && Object.getPrototypeOf(filters) === Object.prototype ? 'a search' : { kind, filters }
  } catch (error) {
    return error instanceof ApiError && [400, 422].includes(error.status) ? 'a refusal' : error
  }
}

describe('any text in a search url', () => {
  it('gives a search or a refusal', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, random, fc.string()), fc.boolean(), (url, ofPeople) => {
        expect(['a search', 'a refusal']).toContain(outcomeOf(url, ofPeople ? 'people' : 'companies'))
      }),
      { seed, numRuns: tries(2_000, 20_000) },
    )
  })

  it('never changes the prototype of other objects', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'polluted']) {
      outcomeOf(
        people(`(${name}:(polluted:1),filters:List((type:${name},${name}:x,values:List((id:1)))))`),
        'people',
      )
      outcomeOf(plainPeople(`keywords=x&${name}=1&${name}[polluted]=1`), 'people')
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it.each([
    ['parentheses that open', '('.repeat(32_000)],
    ['parentheses that close', ')'.repeat(32_000)],
    ['lists that open', 'List('.repeat(6_400)],
    ['objects that open', '(a:'.repeat(10_000)],
    ['texts that never end', `(keywords:${',text'.repeat(6_000)}`],
    ['commas and spaces', `(keywords:${', '.repeat(15_000)}`],
    ['white space', `(keywords:x${' '.repeat(31_000)}!`],
    ['percent signs', '%'.repeat(32_000)],
    ['percent-encoded percent signs', `(keywords:${'%25'.repeat(10_000)})`],
    ['bytes that are no text', `(keywords:${'%ff'.repeat(10_000)})`],
    ['bytes that are no text between letters', `(keywords:${'%ffa'.repeat(8_000)})`],
    ['ampersands', '&'.repeat(32_000)],
    ['parameters', 'a=&'.repeat(10_000)],
    ['quotes', `(filters:List((type:CURRENT_TITLE,values:List((text:${'"'.repeat(499)} OR)))))`],
  ])('gives a search or a refusal, however long: %s', (_, query) => {
    for (const page of [
      'sales/search/people?query=',
      'search/results/people/?keywords=',
      'search/results/people/?geoUrn=[',
    ])
      expect(['a search', 'a refusal']).toContain(outcomeOf(`${host}/${page}${query}`, 'people'))
    expect(outcomeOf(`${host}/${'/'.repeat(32_000)}x`, 'people')).toBe('a refusal')
  })
})
