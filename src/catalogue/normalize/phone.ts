import { createRequire } from 'node:module'
import type { CountryCode, NumberType } from 'libphonenumber-js/max'
import type { PhoneDetail } from '../../engine/ports/ports.js'
import { short, text, Unreadable } from './readers.js'

/** A phone number in E.164, from E.164 with any separators, or from a national number and its country. */
export function phoneOf(value: unknown, country: string | undefined): string | undefined {
  // A spreadsheet keeps a number that begins with `+` as text by an apostrophe.
  const words = text(value)?.replace(/^'/, '')
  if (words === undefined) return undefined
  const number = e164Of(words, country)
  if (number === undefined)
    throw new Unreadable(
      `phone '${short(words)}' must be in E.164, such as +33612345678, or have a country beside it`,
    )
  return number
}

const international = /^\+[1-9]\d{6,14}$/
/** A calling code with a zero behind it: many write the prefix of national calls there, and in few countries it belongs there. */
const prefixed =
  /^\+(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(?:2[1-689]|3[578]|42|5[09]|6[7-9]|8[03578]|9[679])\d)0/

/**
 * A phone number in E.164, from an international number in any spelling, or from a national one and its country;
 * nothing for other text. A number is not doubted because its range is unknown: plans grow, and some numbers are
 * reserved for films.
 */
export function e164Of(words: string, country?: string): string | undefined {
  const bare = words.replace(/[\s().\-–/]/g, '').replace(/^00/, '+')
  // Asking the numbering plans costs a hundred times as much, and most numbers are written as they should be.
  if (international.test(bare) && !prefixed.test(bare)) return bare
  const isNational = !bare.startsWith('+')
  const known = numbering().parsePhoneNumberFromString(isNational ? words : bare, {
    // An unknown country is passed over there.
    ...(country === undefined ? {} : { defaultCountry: country as CountryCode }),
    extract: false,
  })
  if (!known) return international.test(bare) ? bare : undefined
  return international.test(known.number) && (!isNational || known.isPossible()) ? known.number : undefined
}

const types: Readonly<Record<NonNullable<NumberType>, PhoneDetail['type']>> = {
  MOBILE: 'mobile',
  FIXED_LINE_OR_MOBILE: 'fixed_or_mobile',
  FIXED_LINE: 'fixed_line',
  VOIP: 'voip',
  TOLL_FREE: 'toll_free',
  PREMIUM_RATE: 'premium_rate',
  SHARED_COST: 'shared_cost',
  PERSONAL_NUMBER: 'personal_number',
  PAGER: 'pager',
  UAN: 'uan',
  VOICEMAIL: 'voicemail',
}

/** Mobile numbers that Arcep, Ofcom and ComReg keep for fiction; the plans that operators go by do not have them. */
const fictional: readonly (readonly [beginning: string, country: string])[] = [
  ['+3363998', 'FR'],
  ['+447700900', 'GB'],
  ['+3532091', 'IE'],
]

/** Islands with calling codes of their own that share an ISO code. */
const islands: Readonly<Record<string, string>> = { AC: 'SH', TA: 'SH' }

/** Kind and country of a number in E.164; `unknown` and null where its country's plan does not tell. */
export function phoneDetail(number: string): PhoneDetail {
  const country = fictional.find(([beginning]) => number.startsWith(beginning))?.[1]
  if (country !== undefined) return { number, type: 'mobile', country_code: country }
  const known = numbering().parsePhoneNumberFromString(number)
  const type = known?.getType()
  const code = known?.country
  return {
    number,
    type: type === undefined ? 'unknown' : types[type],
    country_code: code === undefined ? null : (islands[code] ?? code),
  }
}

/** Whether a number in E.164 is certainly a mobile one; in North America, where none can be told, it is not. */
export const isMobile = (number: string): boolean => phoneDetail(number).type === 'mobile'

// The numbering plans of all countries cost 30 ms to load, and few commands and files need them: they wait for one.
const load = createRequire(import.meta.url)

/** What is known of the numbering plans of all countries, with the kinds of their numbers. */
export const numbering = (): typeof import('libphonenumber-js/max') => load('libphonenumber-js/max')
