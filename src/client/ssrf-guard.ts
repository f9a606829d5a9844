import { parseUrl } from '../api/values/url.js'
import type { Targets } from '../engine/ports/ports.js'
import {
  type Address,
  addressOf,
  covers,
  embeddedIn,
  isIPv4,
  isLinkLocal,
  isLoopback,
  kindOf,
} from './networks.js'

export interface AddressLookup {
  /** Lookups wait for others of the same owner only; by default each name is its own. */
  readonly owner?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Resolves all addresses of a host name; rejects as `dns.lookup` does when there is none. */
export type Resolve = (name: string, lookup?: AddressLookup) => Promise<readonly string[]>

/** The destination of a URL, with its checked addresses. */
export interface Destination {
  readonly url: URL
  readonly addresses: readonly string[]
}

/** Why nothing may be sent to a URL. */
export interface RefusedAddress {
  readonly refused: string
}

/**
 * Resolves the addresses of a URL once and checks all of them. Connections must go to these, because a second lookup
 * could differ. Rejects when the name cannot be resolved.
 */
export async function destinationOf(
  text: string,
  targets: Targets,
  resolve: Resolve,
  lookup: AddressLookup = {},
): Promise<Destination | RefusedAddress> {
  const url = parseUrl(text)
  if (!url) return { refused: 'The url is not valid' }
  const unfit = whyUnfit(url, text)
  if (unfit) return { refused: unfit }
  const host = hostOf(url)
  const literal = addressOf(host)
  const found = literal ? [literal] : (await resolve(host, lookup)).map(addressOf)
  if (found.length === 0) throw Object.assign(new Error(host), { code: 'ENODATA' })
  const refusals = found.flatMap((address) => whyRefused(address, url.protocol, targets) ?? [])
  if (refusals.length > 0)
    return { refused: sentenceOfRefusals(refusals, host, literal !== undefined, targets) }
  return { url, addresses: found.map(String) }
}

/** Returns the host of a URL, without the brackets of an IPv6 address and without a final dot. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$|\.$/g, '')

/** Returns what is wrong with the URL itself, wherever it leads. */
function whyUnfit(url: URL, text: string): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return 'The scheme of the url is not permitted; use https'
  // The parsed URL drops an empty name or fragment, so the text is checked.
  if (url.username || url.password || /^[^:]*:[\\/]*[^\\/?#]*@/.test(text))
    return 'The url must not contain a user name or a password'
  if (text.includes('#')) return 'The url must not have a fragment; leave out # and what follows it'
  if (url.port === '0') return 'Port 0 cannot be reached'
  return undefined
}

const publicAddress = 'a public address'

/** Why an address is refused. */
interface AddressRefusal {
  /** What it is, such as "a private address". */
  readonly kind: string
  /** What allowing it takes; absent where it never is. */
  readonly networks?: readonly Address[]
}

/** Returns why an address is refused: its own kind, or that of an address it is translated to. */
function whyRefused(
  address: Address | undefined,
  scheme: string,
  targets: Targets,
): AddressRefusal | undefined {
  if (!address) return { kind: 'an address that is bound to a network interface' }
  const forms = [address, ...embeddedIn(address)]
  if (forms.some(isLinkLocal)) return { kind: 'a link-local address' }
  if (targets.loopback && isLoopback(address)) return undefined
  const networks = forms.filter((form) => !targets.allow.some((network) => covers(network, form)))
  const kind = networks.map(kindOf).find(Boolean)
  if (kind) return { kind, networks }
  if (scheme === 'https:' || networks.length === 0) return undefined
  return { kind: publicAddress, networks }
}

/** Returns what is blocked and how to allow it. Of a name only loopback addresses are disclosed, no other internal ones. */
function sentenceOfRefusals(
  refusals: readonly AddressRefusal[],
  host: string,
  isLiteral: boolean,
  { adviceToAllow = () => '', what = 'Webhooks' }: Targets,
): string {
  const advised = (blocked: string, networks: readonly string[]) =>
    `${blocked} ${adviceToAllow(networks)}`.trim()
  const all = refusals.flatMap(({ networks = [] }) => networks)
  if (refusals.every(({ networks }) => networks?.every(isLoopback)))
    return advised(`${what} to this machine are blocked.`, all.map(toNetwork))
  const [refusal = refusals[0]] = refusals.filter(({ kind }) => kind !== publicAddress)
  const { kind, networks } = refusal as AddressRefusal
  const trait = `${isLiteral ? 'is' : 'has'} ${kind}`
  if (!networks) return `${host} ${trait}, which is never permitted`
  if (kind === publicAddress) return advised(`${host} ${trait}, which takes https.`, all.map(toNetwork))
  return advised(
    `${what} to ${host} are blocked, because it ${trait}.`,
    isLiteral ? networks.map(toNetwork) : ['NETWORK'],
  )
}

const toNetwork = (address: Address): string => `${address}/${isIPv4(address) ? 32 : 128}`
