import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import addressKinds from './address-kinds.json' with { type: 'json' }

/** An IP address. An IPv4-mapped IPv6 address is the IPv4 address. */
export type Address = IPv4 | IPv6

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

export const isLoopback = (address: Address): boolean => address.range() === 'loopback'
export const isLinkLocal = (address: Address): boolean => address.range() === 'linkLocal'

/** Only 2000::/3 of IPv6 is allocated so far. */
const isHandedOut = (address: Address): boolean =>
  isIPv4(address) || ((address.parts[0] ?? 0) & 0xe000) === 0x2000

/** 64:ff9b::/96, by which networks without IPv4 reach the public addresses of IPv4; its /48 neighbour is private. */
const isTranslated = (address: Address): boolean =>
  !isIPv4(address) && address.range() === 'rfc6052' && address.parts[2] === 0

/** Returns the IPv4 addresses that an IPv6 address is translated or tunnelled to. */
export function embeddedIn(address: Address): readonly IPv4[] {
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

export const isIPv4 = (address: Address): address is IPv4 => address.kind() === 'ipv4'
const ipv4 = (high: number, low: number): IPv4 =>
  new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
