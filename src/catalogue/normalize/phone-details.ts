import type { NumberType } from 'libphonenumber-js/max'
import type { PhoneDetail } from '../../engine/ports/ports.js'
import { numbering } from './numbering.js'

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
