import { isIPv4, isIPv6 } from 'node:net'

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const wildcards = new Set(['0.0.0.0', '::', ''])
const wellFormed = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/i

/** Whether an address or name to bind is reachable from this machine only. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

/** Whether an address to bind means every interface. */
export const isWildcard = (host: string): boolean => wildcards.has(host)

/** Formats an address for a URL. */
export const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host)

/** Whether a `Host` value is a name or bracketed address with an optional port, and nothing else. */
export const isHost = (value: string): boolean => wellFormed.test(value)

/**
 * Returns every `Host` value that is served, in lower case: loopback names, the bound address and allowed names, each
 * alone or with this port. An allowed name with a port is served with that port only.
 */
export function servedHosts(bound: string, port: number, allowed: readonly string[]): ReadonlySet<string> {
  const names = [...loopbackNames, ...(isWildcard(bound) ? [] : [inUrl(bound)]), ...allowed]
  return new Set(
    names
      .map((name) => name.toLowerCase())
      .flatMap((name) => (/:\d+$/.test(name.replace(/^\[.*\]/, '')) ? [name] : [name, `${name}:${port}`])),
  )
}
