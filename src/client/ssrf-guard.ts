import { parseUrl } from '../api/values/url.js'
import type { Targets } from '../engine/ports/ports.js'
import { type Address, addressOf, covers, embeddedIn, isLinkLocal, isLoopback, kindOf } from './networks.js'

/** Looks up all addresses of a host name; rejects as `dns.lookup` does where there is none. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Where a url leads: to these addresses, each of which was checked. */
export interface Destination {
  readonly url: URL
  readonly addresses: readonly string[]
}

/** Why nothing may be sent to a url. */
export interface Refused {
  readonly refused: string
}

/**
 * Looks up a url's addresses, once, and checks all of them. Connections must go to these: a second lookup could answer
 * otherwise. Rejects where the name cannot be looked up.
 */
export async function destinationOf(
  text: string,
  targets: Targets,
  resolve: Resolve,
): Promise<Destination | Refused> {
  const url = parseUrl(text)
  if (!url) return { refused: 'The url is not valid' }
  const unfit = whyUnfit(url, text)
  if (unfit) return { refused: unfit }
  const host = hostOf(url)
  const literal = addressOf(host)
  const found = literal ? [literal] : (await resolve(host)).map(addressOf)
  if (found.length === 0) throw Object.assign(new Error(host), { code: 'ENODATA' })
  const why = found.map((address) => whyRefused(address, url.protocol, targets)).find(Boolean)
  // Which internal address a name has is for nobody outside to know.
  if (why) return { refused: `${host} ${literal ? 'is' : 'has'} ${why}` }
  return { url, addresses: found.map(String) }
}

/** The host of a url, without the brackets around an address of IPv6 and without the dot that may end a name. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$|\.$/g, '')

/** What is wrong with a url itself, wherever it leads. */
function whyUnfit(url: URL, text: string): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return 'The scheme of the url is not permitted; use https'
  // An empty name or fragment is gone from a parsed url, but is in its text.
  if (url.username || url.password || /^[^:]*:[\\/]*[^\\/?#]*@/.test(text))
    return 'The url must not contain a user name or a password'
  if (text.includes('#')) return 'The url must not have a fragment; leave out # and what follows it'
  if (url.port === '0') return 'Port 0 cannot be reached'
  return undefined
}

/** What forbids an address: what it is, or what it leads to where a network translates it. */
function whyRefused(address: Address | undefined, scheme: string, targets: Targets): string | undefined {
  if (!address) return 'an address that is bound to a network interface, which is never permitted'
  const forms = [address, ...embeddedIn(address)]
  if (forms.some(isLinkLocal)) return 'a link-local address, which is never permitted'
  if (targets.loopback && isLoopback(address)) return undefined
  const outside = forms.filter((form) => !targets.allow.some((network) => covers(network, form)))
  const kind = outside.map(kindOf).find(Boolean)
  if (kind) return `${kind}, which only --allow-target CIDR permits`
  if (scheme === 'https:' || outside.length === 0) return undefined
  return 'a public address, which takes https; only --allow-target CIDR permits http'
}
