import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { ApiError } from '../api/calls/errors.js'

type Raw = Pick<IncomingMessage, 'rawHeaders' | 'url' | 'method' | 'httpVersionMajor'>
type HeaderMap = ReadonlyMap<string, string>

// A decision must not depend on which of two copies is read.
const preflight = ['access-control-request-method', 'access-control-request-headers']
const single = new Set([
  'host',
  'origin',
  'sec-fetch-site',
  'sec-fetch-mode',
  'sec-fetch-dest',
  'x-api-key',
  'idempotency-key',
  'content-type',
  'content-encoding',
  'content-length',
  'transfer-encoding',
  ...preflight,
])

/**
 * Creates the check of a raw request, before anything else reads it. It refuses other hosts (403, 400), browsers (403),
 * and headers that are repeated although their meaning would be ambiguous (400). A link anywhere may lead to what `isPage`
 * says is a page.
 */
export function guard(served: ReadonlySet<string>, isPage = (_: string) => false) {
  return (request: Raw) => {
    const found = singleHeaders(request.rawHeaders)
    if (typeof found === 'string') return bad(`The header ${found} must be given once`)
    return (
      framingProblem(request, found) ??
      hostProblem(found.get('host'), served) ??
      targetProblem(request.url ?? '', found.get('host') ?? '') ??
      (isVisit(request, found) && isPage(pathOf(request.url)) ? undefined : browserProblem(found))
    )
  }
}

const bad = (reason: string) => new ApiError('bad_request', { reason })

/** Returns the headers that may occur once, by lower-case name, or the name of a repeated one. */
function singleHeaders(raw: readonly string[]): HeaderMap | string {
  const found = new Map<string, string>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    if (!single.has(name)) continue
    if (found.has(name)) return name
    found.set(name, raw[at + 1] ?? '')
  }
  return found
}

function framingProblem(request: Raw, found: HeaderMap): ApiError | undefined {
  if (request.httpVersionMajor !== 1) return bad('Only HTTP/1.0 and HTTP/1.1 are served')
  const encoding = found.get('transfer-encoding')
  if (encoding === undefined || encoding.toLowerCase() === 'chunked') return undefined
  return bad('Transfer-Encoding must be chunked')
}

function hostProblem(host: string | undefined, served: ReadonlySet<string>): ApiError | undefined {
  if (host !== undefined && (served.has(host) || served.has(host.toLowerCase()))) return undefined
  if (host === undefined || !isHost(host)) return bad('The Host header must be a host name or address')
  return new ApiError('forbidden_host')
}

/** A target may repeat the host (`GET http://localhost:4010/…`), but not name another. */
function targetProblem(target: string, host: string): ApiError | undefined {
  const authority = /^http:\/\/([^/?#]*)(?:[/?#]|$)/i.exec(target)?.[1]
  if (!target.startsWith('/') && target !== '*' && authority?.toLowerCase() !== host.toLowerCase())
    return bad('The request target must be a path')
  return isIndirect(pathOf(target)) ? new ApiError('not_found') : undefined
}

/**
 * Whether a path has a backslash, `.` or `..`, encoded or not. What reads it next would resolve them to another path than
 * the one that a proxy in front of this server permitted.
 */
function isIndirect(path: string): boolean {
  if (!/[%\\]|\/\./.test(path)) return false
  const decoded = path.replace(/%2e/gi, '.').replace(/%2f|%5c/gi, '/')
  return /\\|\/\.\.?(?:\/|$)/.test(decoded)
}

/** Whether a browser opens a page in a window of its own, and not in a frame or for a script. */
const isVisit = ({ method }: Raw, found: HeaderMap): boolean =>
  method === 'GET' &&
  found.get('sec-fetch-mode') === 'navigate' &&
  found.get('sec-fetch-dest') === 'document' &&
  !found.has('origin') &&
  !preflight.some((name) => found.has(name))

const pathOf = (url = ''): string => url.replace(/[?#].*$/, '')

/** Pages of other origins are refused, whichever header their browser sends. */
function browserProblem(found: HeaderMap): ApiError | undefined {
  const site = found.get('sec-fetch-site')
  const foreign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    isForeign(found.get('origin'), found.get('host') ?? '') ||
    preflight.some((name) => found.has(name))
  return foreign ? new ApiError('forbidden_origin') : undefined
}

function isForeign(origin: string | undefined, host: string): boolean {
  if (origin === undefined) return false
  const own = host.toLowerCase()
  return origin.toLowerCase() !== `http://${own}` && origin.toLowerCase() !== `https://${own}`
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const wildcards = new Set(['0.0.0.0', '::', ''])
const wellFormed = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?$/i

/** Whether an address or name to bind is reachable from this machine only. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

/** Whether an address to bind means every interface. */
export const isWildcard = (host: string): boolean => wildcards.has(host)

export const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host)

/** Whether a `Host` value is a name or bracketed address with an optional port, and nothing else. */
const isHost = (value: string): boolean => wellFormed.test(value)

/** Returns the `Host` values that are served, in lower case, alone or with the port; an allowed name that has a port, with that only. */
export function servedHosts(bound: string, port: number, allowed: readonly string[]): ReadonlySet<string> {
  const names = [...loopbackNames, ...(isWildcard(bound) ? [] : [inUrl(bound)]), ...allowed]
  return new Set(
    names
      .map((name) => name.toLowerCase())
      .flatMap((name) => (/:\d+$/.test(name.replace(/^\[.*\]/, '')) ? [name] : [name, `${name}:${port}`])),
  )
}
