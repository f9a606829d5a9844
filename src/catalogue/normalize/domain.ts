import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'
import { networkHosts } from '../../api/values/network-url.js'
import providers from './free-mailboxes.json' with { type: 'json' }
import ownHosts from './shared-host-owners.json' with { type: 'json' }
import socialHosts from './shared-hosts.json' with { type: 'json' }
import { readWrittenName } from './written-name.js'

/** Top-level domains under which every name of two labels is registrable. */
const flat = 'com|net|org|example|dev|app|eu|de|ch|tech|cloud|info|online|shop|site|xyz'
const plain = new RegExp(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.(?:${flat})$`)
/** The spelling in most files: a plain domain, with or without scheme, `www` and path. */
const common = new RegExp(
  `^(?:https?://)?(?:www\\.)?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.(?:${flat}))(?:[/?#]|$)`,
)
const valid =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{2,59})$/

// The public-suffix list takes 10 ms to load, and most domains do not need it, so it is loaded on first use.
const require = createRequire(import.meta.url)

/**
 * Returns the registrable domain in a url, host name or email address, in ASCII and lower case. `undefined` when there is
 * none, or when an email address belongs to a provider of free mailboxes.
 */
export function toDomain(text: string): string | undefined {
  const usual = common.exec(text)?.[1]
  // `www.com` is a registered domain.
  if (usual !== undefined && !usual.startsWith('www.')) return usual
  const written = parseHost(text)
  const { host, mailbox } = isHost(written.host) ? written : parseHost(tidyAddress(text))
  if (!isHost(host)) return undefined
  const domain = plain.test(host) ? host : toRegistrableDomain(host)
  return mailbox && domain !== undefined && freeMailboxes.has(domain) ? undefined : domain
}

/** Whether text is a host below a top-level domain that exists: `Booking.com` is, `Ember.js` is not. */
export function hasKnownSuffix(text: string): boolean {
  const domain = toDomain(text)
  if (domain === undefined || plain.test(domain)) return domain !== undefined
  const { parse } = require('tldts') as typeof import('tldts')
  return parse(domain, { validateHostname: false }).isIcann === true
}

const isHost = (host: string | undefined): host is string => host !== undefined && valid.test(host)

const invisible = /[\u00ad\u200b-\u200d\u2060\ufeff]/g
const brokenScheme = /^(?:https?(?::\/{0,3}|\/\/)\s*)+|^www\s+/i
const quotes = /^["'“”„‘’«<([]+|["'“”‘’»>)\],;]+$/g

/**
 * Returns the address in a cell with more in it: a label, quotes or brackets, a broken scheme, a second address or a remark
 * behind it. Other text becomes nothing.
 */
function tidyAddress(text: string): string {
  const [first = '', ...others] = text
    .replace(invisible, '')
    .trim()
    .replace(/^\[.*\]\((.*)\)$/s, '$1')
    .replace(/^(?:web(?:site)?|url|domain|site)\s*:\s*/i, '')
    .replace(quotes, '')
    .replace(brokenScheme, '')
    .split(/[\s,;|]+/)
  const isRemark = others.every((part) => /[.@]/.test(part)) || /^\(.*\)?$/.test(others.join(' '))
  return isRemark ? first : ''
}

/** Returns the host in a url or address; `mailbox` is true when it came from an email address. */
function parseHost(text: string): { host: string | undefined; mailbox: boolean } {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/^.*<([^<>]*@[^<>]*)>$/, '$1')
  const scheme = /^(?:[a-z][a-z0-9+.-]*:)?\/\//.exec(bare)?.[0]
  const rest = bare.slice(scheme?.length ?? 0).replace(/^mailto:/, '')
  const authority = rest.split(/[/?#\\]/, 1)[0] ?? ''
  const at = authority.lastIndexOf('@')
  const name = authority
    .slice(at + 1)
    .replace(/:\d*$/, '')
    .replace(/\.+$/, '')
  const ascii = /^[\x21-\x7e]+$/.test(name) && !name.includes('%') ? name : toAscii(name)
  return { host: ascii?.replace(/^www\d?\.(?=[^.]+\.)/, ''), mailbox: at >= 0 && scheme === undefined }
}

function toAscii(name: string): string | undefined {
  if (/\s/.test(name)) return undefined
  try {
    return domainToASCII(decodeURIComponent(name)).replace(/\.+$/, '') || undefined
  } catch {
    return undefined
  }
}

/** Returns the registered name. On a shared host (`acme.github.io`) that is the site; the bare host is its own domain. */
function toRegistrableDomain(host: string): string | undefined {
  const { getDomain } = require('tldts') as typeof import('tldts')
  return (
    getDomain(host, { allowPrivateDomains: true, validateHostname: false }) ??
    getDomain(host, { validateHostname: false }) ??
    undefined
  )
}

/** Providers of free mailboxes. The domain of such an address says nothing about an employer. */
export const freeMailboxes: ReadonlySet<string> = new Set(providers)

/** Hosts at which many have pages, short links or mailboxes. */
const shared: ReadonlySet<string> = new Set([...networkHosts, ...socialHosts, ...freeMailboxes])

/**
 * Returns the domain of the company that a url, host name or email address stands for. A page below a host that many share,
 * or a mailbox at it, stands for none. The bare host is the company that owns it, unless the row has another name.
 */
export function toCompanyDomain(text: string, name?: string): string | undefined {
  const domain = toDomain(text)
  if (domain === undefined || !shared.has(domain)) return domain
  return isBareHost(text, domain) && (name === undefined || isOwner(name, domain)) ? domain : undefined
}

const aroundHost = /^(?:https?:)?(?:\/\/)?(?:(?:www\d?|m)\.)*|\.?(?::\d+)?\/?(?:[?#].*)?$/gs

const isBareHost = (text: string, domain: string): boolean =>
  [text.trim(), tidyAddress(text)].some((one) => one.toLowerCase().replace(aroundHost, '') === domain)

/** Names of owners, without spaces, that their hosts do not have. */
const owners: Readonly<Record<string, readonly string[]>> = ownHosts

/** Returns whether a name is that of a shared host (`TikTok Ltd.`, `bitly`) or of the company that is known to own it. */
function isOwner(name: string, domain: string): boolean {
  const hostNames = [domain.slice(0, domain.indexOf('.')), domain].map(toCompactName)
  const { folds } = readWrittenName(name, () => undefined)
  return [...folds.keys()].map(toCompactName).some((fold) => {
    const hosts = Object.hasOwn(owners, fold) ? owners[fold] : undefined
    return hostNames.includes(fold) || hosts?.includes(domain) === true
  })
}

const toCompactName = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '')
