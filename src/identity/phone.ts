import { createRequire } from 'node:module'
import type { CountryCode, NumberType } from 'libphonenumber-js/max'
import type { PhoneDetail } from '../api/ports/ports.js'
import { once } from '../api/values/objects.js'
import { invalid, text as readText, shorten } from './readers.js'
import { toPlainText } from './spelling.js'

/** Reads a phone number like `toE164`; `undefined` when blank. Throws when it is not a phone number. */
export function readPhone(value: unknown, country: string | undefined): string | undefined {
  const words = readText(value)
  if (words === undefined) return undefined
  const number = toE164(words, country)
  if (number === undefined)
    throw invalid(
      `phone '${shorten(words)}' must be in E.164, such as +33612345678, or have a country beside it`,
    )
  return number
}

const international = /^\+[1-9]\d{6,14}$/
/**
 * A calling code followed by a zero, or Russia's by an 8: many people keep the national prefix there, but few countries do. No area code of North
 * America begins with 1, so that `+1 1` comes from a prefix such as Australia's 0011.
 */
const prefixed =
  /^\+(?:11|(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(?:2[1-689]|3[578]|42|5[09]|6[7-9]|8[03578]|9[679])\d)0|78\d{10}$)/

/** What links and forms of advertisers write before a number, and links behind it. */
const label = /^(?:tel|p|phone|whatsapp):\s*(?=[+\d(])/i
const parameters = /;(?:ext|isub|phone-context)=.*$/i

/**
 * Returns a phone number in E.164, from an international number in any spelling or from a national one and its country;
 * `undefined` for other text. Unknown ranges are accepted: plans grow, and some numbers are reserved for films.
 */
export function toE164(written: string, country?: string): string | undefined {
  if (international.test(written) && !prefixed.test(written)) return written
  // Spreadsheets put an apostrophe before a number that begins with `+`, to keep it as text.
  const words = toPlainText(written).trim().replace(/^'/, '').replace(label, '').replace(parameters, '')
  // `… 78 / 79` are two numbers.
  if (/\s\/\s*\d{1,2}$/.test(words)) return undefined
  // No calling code is one of these digits alone: `009 49 …` has a prefix of which nobody knows the country.
  if (/^(?:\+|00)[2-689][^\d(]/.test(words)) return undefined
  const mayBeTwo = /[/-]\s*\d{1,2}$/.test(words)
  const bare = words.replace(/[\s().\-–/]/g, '').replace(/^00/, '+')
  // The numbering plans take a hundred times as long, and most numbers are well formed.
  // `… 78-79` may be two, and `… 100-0` an extension: the length decides.
  if (international.test(bare) && !prefixed.test(bare) && !mayBeTwo) return bare
  const isNational = !bare.startsWith('+')
  const known = loadPhoneMetadata().parsePhoneNumberFromString(isNational ? words : bare, {
    // The library ignores an unknown country.
    ...(country === undefined ? {} : { defaultCountry: country as CountryCode }),
    extract: false,
  })
  if (bare.startsWith('+11') && !known?.isValid()) return undefined
  if (mayBeTwo && known?.isPossible() === false) return undefined
  if (!known) return international.test(bare) ? bare : undefined
  return international.test(known.number) && (!isNational || known.isPossible()) ? known.number : undefined
}

/** Returns the type of a number in our words: that of the numbering plans in lower case, but for one. */
const toType = (type: NonNullable<NumberType>) =>
  type === 'FIXED_LINE_OR_MOBILE' ? 'fixed_or_mobile' : (type.toLowerCase() as Lowercase<typeof type>)

/** Mobile numbers that Arcep, Ofcom and ComReg reserve for fiction; numbering plans do not list them. */
const fictional: readonly (readonly [beginning: string, country: string])[] = [
  ['+3363998', 'FR'],
  ['+447700900', 'GB'],
  ['+3532091', 'IE'],
]

/** Territories of the phone metadata, with the ISO code that they share. */
const islands: Readonly<Record<string, string>> = { AC: 'SH', TA: 'SH' }

/** Returns the type and country of a number in E.164; `unknown` and null when its country's plan does not say. */
export function describePhone(number: string): PhoneDetail {
  const country = fictional.find(([beginning]) => number.startsWith(beginning))?.[1]
  if (country !== undefined) return { number, type: 'mobile', country_code: country }
  const known = loadPhoneMetadata().parsePhoneNumberFromString(number)
  const type = known?.getType()
  const code = known?.country
  return {
    number,
    type: type === undefined ? 'unknown' : toType(type),
    country_code: code === undefined ? null : (islands[code] ?? code),
  }
}

/** Returns the digits of a number in E.164 as its country writes them, without a prefix. */
export const nationalDigitsOf = (number: string): string | undefined =>
  loadPhoneMetadata().parsePhoneNumberFromString(number)?.nationalNumber

/** Returns whether a number in E.164 is certainly mobile; false in North America, where numbers do not show it. */
export const isMobile = (number: string): boolean => describePhone(number).type === 'mobile'

/** The numbering plans of all countries, with number types, take 30 ms to load, and few commands need them. */
const loadPhoneMetadata = once(
  () => createRequire(import.meta.url)('libphonenumber-js/max') as typeof import('libphonenumber-js/max'),
)
