import { isOwnMachine, parseUrl } from '../api/values/url.js'
import { hostOf } from './ssrf-guard.js'

/** Variables of the environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The proxy that the environment names for a url: HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY lists its host; each in
 * lower case before upper case. This machine itself is never reached through one.
 */
export function proxyOf(url: URL, env: Environment): URL | undefined {
  if (isOwnMachine(url) || isExcepted(url, variable(env, 'no_proxy'))) return undefined
  const text = variable(env, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy')
  if (text === '') return undefined
  const proxy = addressOf(text)
  if (proxy && /^(?:https?|socks5h?|socks):$/.test(proxy.protocol) && proxy.hostname !== '') return proxy
  throw new ProxyError(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY')
}

/** An address as variables of the environment have it, which may lack its scheme; nothing where it is none. */
export const addressOf = (text: string): URL | undefined =>
  parseUrl(text.includes('://') ? text : `http://${text}`)

/** A variable that names no proxy; its value may hold a password and is not repeated. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'

  constructor(name: string) {
    super(`${name} is not the address of a proxy, such as http://proxy.example:3128`)
  }
}

const variable = (env: Environment, name: string): string =>
  (env[name] || env[name.toUpperCase()] || '').trim()

/** Entries are hosts, which mean the names below them too, with or without a dot in front and a port behind; or `*`. */
function isExcepted(url: URL, list: string): boolean {
  const host = hostOf(url).toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
  return entries.some((entry) => {
    const { name, wanted } = partsOf(entry)
    return entry === '*' || (isBelow(host, name) && (wanted === undefined || wanted === port))
  })
}

function partsOf(entry: string): { readonly name: string; readonly wanted: string | undefined } {
  const [, name = entry, wanted] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? []
  return { name: name.replace(/^\*?\.|^\[|\]$/g, ''), wanted }
}

const isBelow = (host: string, name: string): boolean =>
  name !== '' && (host === name || host.endsWith(`.${name}`))
