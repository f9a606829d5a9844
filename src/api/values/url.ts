import { resultOr } from './objects.js'

/**
 * Returns the URL in a text; `undefined` when it is none. Never use `URL.canParse`: in Node 20 and 22 it refuses
 * every host with an accented letter after some thousand calls.
 */
export const parseUrl = (text: string): URL | undefined => resultOr(undefined, () => new URL(text))

/** Returns whether a URL leads to this machine: requests to it pass no network and no proxy. */
export function isOwnMachine(url: URL): boolean {
  const host = url.hostname.toLowerCase().replace(/\.$/, '')
  return (
    host === 'localhost' ||
    /^127(?:\.\d{1,3}){3}$/.test(host) ||
    host === '[::1]' ||
    host.startsWith('[::ffff:7f')
  )
}

/** Hosts of the network, with or without a prefix of `www.`, `m.` or a country. A setting. */
export const networkHosts: readonly string[] = ['linkedin.com', 'network.example']

/** The origin of network URLs that we write. A setting. */
export const networkOrigin = 'https://www.network.example'

/** Returns the path (without its first slash) and query of a URL on the network; `undefined` for any other text. */
export function parseNetworkUrl(url: string, hosts: readonly string[] = networkHosts) {
  const text = url.toLowerCase()
  if (!hosts.some((host) => text.includes(host))) return undefined
  const [, host = '', path = '', search = '', fragment = ''] = parts.exec(url) ?? []
  const bare = host
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/\.$/, '')
    .replace(/^(?:www|m|[a-z]{2})\./, '')
  if (!hosts.includes(bare)) return undefined
  // Older URLs of the premium search tool have their query after the hash.
  return { path, query: search === '' && fragment.startsWith('query=') ? fragment : search }
}
const parts = /^\s*(?:https?:)?\/{0,2}([^/?#\s]+)\/([^?#]*)(?:\?([^#]*))?(?:#(.*))?/is

export interface SearchPage {
  readonly of: 'companies' | 'people'
  /** Whether it is a page of the premium search tool. */
  readonly premium: boolean
  readonly query: string
}

const pages: Readonly<Record<string, Omit<SearchPage, 'query'>>> = {
  'sales/search/people': { of: 'people', premium: true },
  'sales/search/company': { of: 'companies', premium: true },
  'search/results/people': { of: 'people', premium: false },
  'search/results/companies': { of: 'companies', premium: false },
}

/** Returns the search result page of a URL; `undefined` for any other text. */
export function searchPageOf(url: string, hosts: readonly string[] = networkHosts): SearchPage | undefined {
  const { path = '', query = '' } = parseNetworkUrl(url, hosts) ?? {}
  const page = path.toLowerCase().replace(/\/$/, '')
  const known = Object.hasOwn(pages, page) ? pages[page] : undefined
  return known && { ...known, query }
}

/** Returns the path of the premium tool's search result page. */
export const premiumPathOf = (of: SearchPage['of']): string =>
  Object.entries(pages).find(([, page]) => page.premium && page.of === of)?.[0] ?? ''
