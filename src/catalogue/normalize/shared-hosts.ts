import { networkHosts } from '../../api/values/network-url.js'
import { freeMailboxes, tidyAddress, toDomain } from './domain.js'
import ownHosts from './shared-host-owners.json' with { type: 'json' }
import socialHosts from './shared-hosts.json' with { type: 'json' }
import { readWrittenName } from './written-name.js'

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
