import { parseProfile } from '../normalize/profile.js'
import type { Traces } from './identifiers.js'

/** What stands in the place of what was struck out. */
export const struck = '[forgotten]'

/** Texts that tell of somebody, by address, number or profile. */
export interface Mentions {
  isIn(text: string): boolean
  /** Whether a text is such an address, number or profile and nothing else. */
  isAll(text: string): boolean
  /** The text with all of it struck out, and their name beside it. */
  without(text: string): string
  /** The text with their full name struck out. */
  unnamed(text: string): string
}

/** Looks for what tells of somebody in texts. */
export function mentionsOf(traces: Traces): Mentions {
  const loose = oneOf([
    ...traces.emails.map(addressed),
    ...traces.phones.map(dialled),
    ...traces.slugs.flatMap((slug) => [...new Set([slug, encodeURIComponent(slug)])].map(linked)),
  ])
  // Ids of the network tell upper from lower case.
  const exact = oneOf(traces.ids.map((id) => `(?<![\\w\\-])${escaped(id)}(?![\\w\\-])`))
  const [any, anyId] = [new RegExp(loose, 'iu'), new RegExp(exact, 'u')]
  const [all, allIds] = [new RegExp(loose, 'giu'), new RegExp(exact, 'gu')]
  const names = new RegExp(oneOf(traces.people.flatMap(({ written }) => written.map(spelt))), 'giu')
  const lookups = traces.people.flatMap(({ identities }) => identities)
  const hint = hintOf(traces)
  const holds = (text: string) => hint.test(text) && (any.test(text) || anyId.test(text))
  const isLookup = (text: string) =>
    lookups.some((lookup) => text === lookup || text.startsWith(`${lookup} `))
  const whole = new RegExp(`^\\s*(?:mailto:)?(?:${loose}|${exact})\\s*$`, 'iu')
  const isIn = (text: string) => holds(text) || isLookup(text) || (text.includes('%') && holds(decoded(text)))
  const unnamed = (text: string) => text.replace(names, struck)
  return {
    isIn,
    isAll: (text) => isIn(text) && (whole.test(text) || isLookup(text) || isProfile(traces, text)),
    unnamed,
    without: (text) => {
      if (!isIn(text)) return text
      const rest = text.replace(all, struck).replace(allIds, struck)
      // What tells of them in a spelling that cannot be cut out takes its whole text with it.
      return isIn(rest) ? struck : unnamed(rest)
    },
  }
}

/** What every such text has in it, to be told fast: most texts have not. */
const hintOf = ({ emails, phones, slugs, ids }: Traces): RegExp =>
  new RegExp(
    oneOf([
      ...emails.map((email) => escaped(email.slice(0, email.indexOf('@')))),
      ...phones.map((phone) => grouped(phone.slice(-4))),
      ...slugs.flatMap((slug) => [slug, encodeURIComponent(slug)]).map(escaped),
      ...ids.map(escaped),
    ]),
    'i',
  )

function isProfile({ slugs, ids }: Traces, text: string): boolean {
  const profile = parseProfile(text)
  if (profile?.kind !== 'person') return false
  return profile.id === undefined ? slugs.includes(profile.slug ?? '') : ids.includes(profile.id)
}

/** One pattern of several; nothing fits where there are none. */
const oneOf = (patterns: readonly string[]): string => (patterns.length === 0 ? '(?!)' : patterns.join('|'))

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const addressed = (email: string): string =>
  `(?<![\\p{L}\\p{N}._+\\-])${escaped(email).replace('@', '(?:@|%40)')}(?![\\p{L}\\p{N}\\-]|\\.[\\p{L}\\p{N}])`

/** A number however its digits are grouped. */
const dialled = (phone: string): string =>
  `(?<!\\d)(?:\\+|00|%2B)?${grouped(phone.replace(/\D/g, ''))}(?!\\d)`

const grouped = (digits: string): string => [...digits].join('[\\s().\\-]{0,2}')

/** A name in a url of a profile or of a post, or in what a lookup by profile is known by. */
const linked = (slug: string): string =>
  `(?:\\/(?:in|pub)\\/|person:slug:)${escaped(slug)}(?![\\p{L}\\p{N}%_\\-])|\\/posts\\/${escaped(slug)}(?![\\p{L}\\p{N}%\\-])`

const spelt = (name: string): string =>
  `(?<![\\p{L}\\p{N}])${name.trim().split(/\s+/).map(escaped).join('\\s+')}(?![\\p{L}\\p{N}])`

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
