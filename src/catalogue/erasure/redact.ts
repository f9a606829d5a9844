import { resultOr } from '../../api/values/objects.js'
import { parseProfile } from '../normalize/profile.js'
import type { SubjectIdentifiers } from './identifiers.js'

/** What stands in the place of redacted data. */
export const redacted = '[forgotten]'

/** Creates the matcher that recognises a person in texts by address, number or profile. */
export function createTextMatcher(subject: SubjectIdentifiers) {
  const loose = anyOf([
    ...subject.emails.map(emailPattern),
    ...subject.phones.map(phonePattern),
    ...subject.slugs.flatMap((slug) => [...new Set([slug, encodeURIComponent(slug)])].map(slugPattern)),
  ])
  // Ids of the network are case-sensitive.
  const exact = anyOf(subject.ids.map((id) => `(?<![\\w\\-])${escapeText(id)}(?![\\w\\-])`))
  const [any, anyId] = [new RegExp(loose, 'iu'), new RegExp(exact, 'u')]
  const [all, allIds] = [new RegExp(loose, 'giu'), new RegExp(exact, 'gu')]
  const names = new RegExp(anyOf(subject.people.flatMap(({ written }) => written.map(namePattern))), 'giu')
  const lookups = subject.people.flatMap(({ identities }) => identities)
  const hint = hintPattern(subject)
  const holds = (text: string) => hint.test(text) && (any.test(text) || anyId.test(text))
  const isLookup = (text: string) =>
    lookups.some((lookup) => text === lookup || text.startsWith(`${lookup} `))
  const whole = new RegExp(`^\\s*(?:mailto:)?(?:${loose}|${exact})\\s*$`, 'iu')
  const mentions = (text: string) =>
    holds(text) || isLookup(text) || (text.includes('%') && holds(decode(text)))
  const redactName = (text: string) => text.replace(names, redacted)
  return {
    mentions,
    /** Returns whether a text is an identifier of the person and nothing else. */
    isIdentifier: (text: string) =>
      mentions(text) && (whole.test(text) || isLookup(text) || isProfile(subject, text)),
    /** Returns the text with the full name redacted. */
    redactName,
    /** Returns the text with identifiers redacted, and the name beside them. */
    redact: (text: string) => {
      if (!mentions(text)) return text
      const rest = text.replace(all, redacted).replace(allIds, redacted)
      // An identifier in a spelling that cannot be cut out takes its whole text with it.
      return mentions(rest) ? redacted : redactName(rest)
    },
  }
}

/** Returns a pattern that every mention contains. It is fast, and most texts do not match it. */
const hintPattern = ({ emails, phones, slugs, ids }: SubjectIdentifiers): RegExp =>
  new RegExp(
    anyOf([
      ...emails.map((email) => escapeText(email.slice(0, email.indexOf('@')))),
      ...phones.map((phone) => groupDigits(phone.slice(-4))),
      ...slugs.flatMap((slug) => [slug, encodeURIComponent(slug)]).map(escapeText),
      ...ids.map(escapeText),
    ]),
    'i',
  )

function isProfile({ slugs, ids }: SubjectIdentifiers, text: string): boolean {
  const profile = parseProfile(text)
  if (profile?.kind !== 'person') return false
  return profile.id === undefined ? slugs.includes(profile.slug ?? '') : ids.includes(profile.id)
}

/** Joins patterns into one; without any, it matches nothing. */
const anyOf = (patterns: readonly string[]): string => (patterns.length === 0 ? '(?!)' : patterns.join('|'))

const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const emailPattern = (email: string): string =>
  `(?<![\\p{L}\\p{N}._+\\-])${escapeText(email).replace('@', '(?:@|%40)')}(?![\\p{L}\\p{N}\\-]|\\.[\\p{L}\\p{N}])`

/** Returns the pattern of a phone number, however its digits are grouped. */
const phonePattern = (phone: string): string =>
  `(?<!\\d)(?:\\+|00|%2B)?${groupDigits(phone.replace(/\D/g, ''))}(?!\\d)`

const groupDigits = (digits: string): string => [...digits].join('[\\s().\\-]{0,2}')

/** Returns the pattern of a slug in the url of a profile or post, or in the identity of a lookup. */
const slugPattern = (slug: string): string =>
  `(?:\\/(?:in|pub)\\/|person:slug:)${escapeText(slug)}(?![\\p{L}\\p{N}%_\\-])|\\/posts\\/${escapeText(slug)}(?![\\p{L}\\p{N}%\\-])`

const namePattern = (name: string): string =>
  `(?<![\\p{L}\\p{N}])${name.trim().split(/\s+/).map(escapeText).join('\\s+')}(?![\\p{L}\\p{N}])`

const decode = (text: string): string => resultOr(text, () => decodeURIComponent(text))
