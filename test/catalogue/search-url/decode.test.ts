import { describe, expect, it } from 'vitest'
import { decodeSearchUrl } from '../../../src/catalogue/search-url/decode.js'
import { rowsOf } from '../../support/fixtures.js'
import { filter, people, plainPeople, urlOf } from '../search-urls.js'

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
