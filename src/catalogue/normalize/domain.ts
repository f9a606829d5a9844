import { createRequire } from 'node:module'
import { domainToASCII } from 'node:url'
import { freeMailboxes } from './mailboxes.js'

/** Top-level domains under which every name of two labels is a registrable one. */
const flat = 'com|net|org|example|dev|app|eu|de|ch|tech|cloud|info|online|shop|site|xyz'
const plain = new RegExp(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.(?:${flat})$`)
/** A plain domain as most files write it: with or without scheme, `www` and a path. */
const common = new RegExp(
  `^(?:https?://)?(?:www\\.)?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.(?:${flat}))(?:[/?#]|$)`,
)
const valid =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{2,59})$/

// The public-suffix list costs 10 ms to load, and most domains do not need it: it waits for one that does.
const load = createRequire(import.meta.url)

/**
 * The registrable domain in a url, host name or e-mail address, in ASCII and lower case. Nothing for text that
 * holds none, and for an e-mail address at a provider of free mailboxes.
 */
export function domainOf(text: string): string | undefined {
  const usual = common.exec(text)?.[1]
  // `www.com` is a domain of its own.
  if (usual !== undefined && !usual.startsWith('www.')) return usual
  const { host, mailbox } = hostOf(text)
  if (!host || !valid.test(host)) return undefined
  const domain = plain.test(host) ? host : registrable(host)
  return mailbox && domain !== undefined && freeMailboxes.has(domain) ? undefined : domain
}

/** Cuts the host out of a url or address; `mailbox` when it came from an e-mail address. */
function hostOf(text: string): { host: string | undefined; mailbox: boolean } {
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

/**
 * The name that was registered: with a host of many sites (`acme.github.io`) that is the site's, and only the
 * host itself is known by its own.
 */
function registrable(host: string): string | undefined {
  const { getDomain } = load('tldts') as typeof import('tldts')
  return (
    getDomain(host, { allowPrivateDomains: true, validateHostname: false }) ??
    getDomain(host, { validateHostname: false }) ??
    undefined
  )
}
