import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import type { Targets } from '../api/ports/ports.js'
import { parseUrl } from '../api/values/url.js'
import addressKinds from './address-kinds.json' with { type: 'json' }

interface AddressLookup {
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

/**
 * Resolves the addresses of a URL once and checks all of them. Connections must go to these, because a second lookup
 * could differ. Rejects when the name cannot be resolved.
 */
export async function destinationOf(
  text: string,
  targets: Targets,
  resolve: Resolve,
  lookup: AddressLookup = {},
): Promise<Destination | { readonly refused: string }> {
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

interface AddressRefusal {
  /** What it is, such as "a private address". */
  readonly kind: string
  /** What allowing it takes; absent where it never is. */
  readonly networks?: readonly Address[]
}

/** Returns why an address is refused: its own kind, or that of an address it is translated to. */
function whyRefused(address: Address | undefined, scheme: string, targets: Targets) {
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

/** An IP address. An IPv4-mapped IPv6 address is the IPv4 address. */
type Address = IPv4 | IPv6

/** Names of the special address ranges; all other special ranges are reserved. */
const kinds: Readonly<Record<string, string>> = addressKinds

/** Parses an address in its plain spelling; `undefined` for other spellings and for addresses with a zone. */
export function addressOf(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Returns what kind of address it is, such as `a private address`; `undefined` for a public one. */
export function kindOf(address: Address): string | undefined {
  const range = address.range()
  const public_ = range === 'unicast' ? isHandedOut(address) : isTranslated(address)
  return public_ ? undefined : (kinds[range] ?? 'a reserved address')
}

const isLoopback = (address: Address): boolean => address.range() === 'loopback'
const isLinkLocal = (address: Address): boolean => address.range() === 'linkLocal'

/** Only 2000::/3 of IPv6 is allocated so far. */
const isHandedOut = (address: Address): boolean =>
  isIPv4(address) || ((address.parts[0] ?? 0) & 0xe000) === 0x2000

/** 64:ff9b::/96, by which networks without IPv4 reach the public addresses of IPv4; its /48 neighbour is private. */
const isTranslated = (address: Address): boolean =>
  !isIPv4(address) && address.range() === 'rfc6052' && address.parts[2] === 0

/** Returns the IPv4 addresses that an IPv6 address is translated or tunnelled to. */
function embeddedIn(address: Address): readonly IPv4[] {
  if (isIPv4(address)) return []
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = address.parts
  const range = address.range()
  if (range === '6to4') return [ipv4(b, c)]
  if (range === 'teredo') return [ipv4(c, d), ipv4(g ^ 0xffff, h ^ 0xffff)]
  const isatap = (e & 0xfdff) === 0 && f === 0x5efe
  const compatible = (a | b | c | d | e | f) === 0 && (g > 0 || h > 1)
  return isatap || compatible || range === 'rfc6052' || range === 'rfc6145' ? [ipv4(g, h)] : []
}

/** Whether a text is a network (CIDR) or a single address. */
export const isNetwork = (text: string): boolean => networkOf(text) !== undefined

/** Whether an address is in a network; false when the text names no network. */
export function covers(network: string, address: Address): boolean {
  const [start, bits] = networkOf(network) ?? []
  if (!start || bits === undefined || start.kind() !== address.kind()) return false
  return address.match(start, bits)
}

/** Whether the address of a connection, which may have a zone, is in one of several networks. */
export function coversAddress(networks: readonly string[], text: string): boolean {
  const address = addressOf(text.replace(/%.*/, ''))
  return address !== undefined && networks.some((network) => covers(network, address))
}

function networkOf(text: string): readonly [start: Address, bits: number] | undefined {
  const [head = '', length, ...rest] = text.trim().split('/')
  const start = addressOf(head)
  if (!start || rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0')) return undefined
  const written = head.includes(':') ? 128 : 32
  const bits = length === undefined ? written : Number(length)
  // The length of a mapped network counts from the beginning of IPv6; it means the addresses of IPv4 in it.
  const own = bits - (written - (isIPv4(start) ? 32 : 128))
  return own >= 0 && bits <= written ? [start, own] : undefined
}

const isIPv4 = (address: Address): address is IPv4 => address.kind() === 'ipv4'
const ipv4 = (high: number, low: number): IPv4 =>
  new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
