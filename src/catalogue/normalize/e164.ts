import type { CountryCode } from 'libphonenumber-js/max'
import { numbering } from './numbering.js'

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
