import { resultOr } from '../api/values/objects.js'
import { networkHosts, parseNetworkUrl } from '../api/values/url.js'
import { toPlainText } from './spelling.js'

/** What a profile url refers to: a slug (lower case), or an id of the network. */
export interface NetworkProfile {
  readonly kind: 'company' | 'person'
  readonly slug?: string
  readonly id?: string
}

/**
 * Parses a profile url in any spelling: regular or premium, with or without scheme, `www`, country, query and slashes, as
 * old pages, mails and telephones have it.
 */
export function parseProfile(
  url: string,
  hosts: readonly string[] = networkHosts,
): NetworkProfile | undefined {
  const [, usualSection, text = ''] = (hosts === networkHosts && usual.exec(url)) || []
  if (usualSection === 'in') return { kind: 'person', slug: text }
  if (usualSection === 'company')
    return companyId.test(text) ? { kind: usualSection, id: text } : { kind: usualSection, slug: text }
  const found = parseNetworkUrl(toPlainUrl(url), hosts)
  if (!found) return undefined
  const [section, name, ...rest] = found.path.split('/').filter((part) => !unsaid.test(part))
  const of = section?.toLowerCase()
  if (of === 'company') return toProfile('company', companyId, name)
  if (of === 'in') return toProfile('person', personId, name)
  if (of === 'pub' && name !== 'dir')
    return toProfile('person', personId, [name, ...publicEnd(rest)].join('-'))
  return of === 'sales' ? parsePremium(name, rest[0]) : undefined
}

const usualHosts = networkHosts.join('|').replaceAll('.', '\\.')
/** The spelling in most files, whose last part needs nothing done to it: it may not be `unsaid`, either. */
const usual = new RegExp(
  `^(?:https?://)?(?:www\\.)?(?:${usualHosts})/(in|company)/(?!comm|mwlite)([a-z0-9-]{3,})/?$`,
)

/** Returns a URL without what stands around it, and with the slashes that it means. */
export const toPlainUrl = (url: string): string =>
  toPlainText(url)
    .replaceAll('\\', '/')
    .replace(/^[\s<"']+|[\s>"']+$/g, '')

/** Returns a URL with a scheme and single slashes, as it is sent. */
export const toUsualUrl = (url: string): string =>
  toPlainUrl(url)
    .replace(/^\/{2,}/, 'https://')
    .replace(/([^:/])\/{2,}/g, '$1/')

/** Parts of a path that say nothing of whose profile it is: double slashes, and pages for telephones and from mails. */
const unsaid = /^(?:\s*|\.|mwlite|comm|m)$/i

/** Returns the end of the slug that a public profile (`/pub/jane-doe/a7/57/b50`) has today (`jane-doe-b50057a7`). */
function publicEnd(parts: readonly string[]): string[] {
  const [first = '', second = '', third = ''] = parts.map((part) => part.toLowerCase())
  if (![first, second, third].every((part) => /^[\da-f]{1,3}$/.test(part))) return []
  return [third.padStart(3, '0') + second.padStart(3, '0') + (first === '0' ? '' : first)]
}

function parsePremium(section: string | undefined, name: string | undefined): NetworkProfile | undefined {
  if (section?.toLowerCase() === 'company') return toProfile('company', companyId, name)
  if (!['lead', 'people'].includes(section?.toLowerCase() ?? '')) return undefined
  const id = decodeName(name)?.split(',', 1)[0]
  return id ? { kind: 'person', id } : undefined
}

const sections = { company: 'company', person: 'in' } as const
const handle = /^@?([\p{L}\p{N}][\p{L}\p{N}_-]{1,99})$/u

/** Returns the URL of the profile that a text is the last part of, as some lists have it; other text unchanged. */
export function toProfileUrl(kind: NetworkProfile['kind'], text: string): string {
  const name = handle.exec(text.trim())?.[1]
  return name === undefined ? text : `https://www.${networkHosts[0]}/${sections[kind]}/${name}`
}

const companyId = /^\d+$/
const personId = /^AC[a-z]AA/

/** Ids of people are case-sensitive; vanity names are not. */
function toProfile(kind: NetworkProfile['kind'], isId: RegExp, name?: string): NetworkProfile | undefined {
  const text = decodeName(name)
  if (!text) return undefined
  return isId.test(text) ? { kind, id: text } : { kind, slug: text.toLowerCase() }
}

function decodeName(name: string | undefined): string | undefined {
  const text = name && resultOr(undefined, () => toPlainText(decodeURIComponent(name)).trim())
  // Databases refuse NUL, and no profile contains it.
  return text?.includes('\0') ? undefined : text
}
