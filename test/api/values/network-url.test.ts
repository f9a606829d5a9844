import { describe, expect, it } from 'vitest'
import { parseNetworkUrl, searchPageOf } from '../../../src/api/values/url.js'

describe('a url on the network', () => {
  it.each([
    ['https://www.linkedin.com/in/ada?x=1#top', { path: 'in/ada', query: 'x=1' }],
    ['//fr.network.example:443/a/b/', { path: 'a/b/', query: '' }],
    ['m.linkedin.com./x', { path: 'x', query: '' }],
    [
      'https://linkedin.com/sales/search/people#query=(a:1)',
      { path: 'sales/search/people', query: 'query=(a:1)' },
    ],
  ])('is recognised: %s', (url, parts) => {
    expect(parseNetworkUrl(url)).toEqual(parts)
  })

  it.each([
    '',
    'linkedin.com',
    'https://evil-linkedin.com/x',
    'https://linkedin.com.evil.example/x',
    'https://a@linkedin.com/x',
  ])('is not recognised: %j', (url) => {
    expect(parseNetworkUrl(url)).toBeUndefined()
  })

  it('may have hosts from a setting', () => {
    expect(parseNetworkUrl('https://www.net.test/x', ['net.test'])).toEqual({ path: 'x', query: '' })
  })
})

describe('a url of search results', () => {
  it.each([
    [
      'https://www.linkedin.com/sales/search/people?query=(a:1)',
      { of: 'people', premium: true, query: 'query=(a:1)' },
    ],
    [
      'https://www.linkedin.com/sales/search/company/?page=2',
      { of: 'companies', premium: true, query: 'page=2' },
    ],
    [
      'network.example/search/results/people/?keywords=x',
      { of: 'people', premium: false, query: 'keywords=x' },
    ],
    ['https://de.network.example/SEARCH/results/COMPANIES', { of: 'companies', premium: false, query: '' }],
  ])('is parsed: %s', (url, page) => {
    expect(searchPageOf(url)).toEqual(page)
  })

  it.each([
    'https://network.example/sales/company/1',
    'https://network.example/constructor',
    'https://a.example/sales/search/people',
  ])('is not recognised: %s', (url) => {
    expect(searchPageOf(url)).toBeUndefined()
  })
})
