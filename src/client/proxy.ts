import { Refusal } from '../api/calls/errors.js'
import { isOwnMachine, parseUrl } from '../api/values/url.js'
import { hostOf } from './ssrf-guard.js'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the proxy for a URL: HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY lists the host. Lower-case names come first.
 * This machine is never reached through a proxy.
 */
export function proxyOf(url: URL, env: Environment): URL | undefined {
  if (isOwnMachine(url) || isExcepted(url, variable(env, 'no_proxy'))) return undefined
  const text = variable(env, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy')
  if (text === '') return undefined
  const proxy = addressOf(text)
  if (proxy && /^(?:https?|socks5h?|socks):$/.test(proxy.protocol) && proxy.hostname !== '') return proxy
  // Its value may hold a password and is not repeated.
  throw new Refusal('proxy.not_address', { name: url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY' })
}

/** Parses the address in an environment variable, which may lack a scheme; `undefined` when it is none. */
export const addressOf = (text: string): URL | undefined =>
  parseUrl(text.includes('://') ? text : `http://${text}`)

const variable = (env: Environment, name: string): string =>
  (env[name] || env[name.toUpperCase()] || '').trim()

/**
 * An entry matches the host and everything below it, with or without a leading dot and a port; `*` matches all.
 */
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
