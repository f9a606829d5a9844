import type { Entry } from './gazetteer.js'

type Code = Entry['code']
type Source = 'live' | 'database' | 'hiring'

// The network's own ids of countries. Others are made here, above all of its own.
// biome-ignore format: a table
const countries: Readonly<Record<string, number>> = {
  AD: 106296266, AE: 104305776, AL: 102845717, AR: 100446943, AT: 103883259, AU: 101452733, BA: 102869081,
  BD: 106215326, BE: 100565514, BG: 105333783, BH: 100425729, BR: 106057199, BY: 101705918, CA: 101174742,
  CH: 106693272, CL: 104621616, CN: 102890883, CO: 100876405, CZ: 104508036, DE: 101282230, DK: 104514075,
  EE: 102974008, EG: 106155005, ES: 105646813, FI: 100456013, FR: 105015875, GB: 101165590, GE: 106315325,
  GR: 104677530, HK: 103291313, HR: 104688944, HU: 100288700, ID: 102478259, IE: 104738515, IL: 101620260,
  IN: 102713980, IS: 105238872, IT: 103350119, JP: 101355337, KE: 100660959, KR: 105149562, KW: 103239229,
  LI: 100878084, LK: 100446352, LT: 101464403, LU: 104042105, LV: 104341318, MC: 101352147, MD: 106178099,
  ME: 100733275, MX: 103323778, MY: 106808692, NG: 105365761, NL: 102890719, NO: 103819153, NZ: 105490917,
  OM: 103619019, PE: 102927786, PH: 103121230, PK: 101022442, PL: 105072130, PT: 100364837, QA: 104170880,
  RO: 106670623, RS: 101855366, RU: 101728296, SA: 100459316, SE: 105117694, SG: 102454443, SI: 106137034,
  SM: 105730022, TH: 105146118, TR: 102105699, TW: 104187078, UA: 102264497, US: 103644278, VE: 101490751,
  VN: 104195383, XK: 104640522, ZA: 104035573,
}

/** From here on, an id of source `live` is the GeoNames id of a city. */
const firstCity = 200_000_000
/** From here on, it is the code of a country or region, read as a number of base 36. */
const firstCode = 1_000_000_000

/** The id of a place: `geo:FR.84`, `hiring:FR.84`, or for source `live` a number alone. */
export function idOf(code: Code, source: Source): string {
  if (source !== 'live') return `${source === 'hiring' ? 'hiring' : 'geo'}:${code}`
  if (typeof code === 'number') return String(firstCity + code)
  return String(countries[code] ?? firstCode + Number.parseInt(code.replace('.', ''), 36))
}

/** What an id of any source stands for; undefined for a text that is no such id. */
export function codeOf(id: string): Code | undefined {
  const [, code, city] = /^(?:geo|hiring):(?:([A-Z]{2}(?:\.[A-Z0-9]{1,8})?)|(\d{1,12}))$/.exec(id) ?? []
  if (code !== undefined) return code
  if (city !== undefined) return Number(city)
  return /^\d{9,16}$/.test(id) ? liveCode(Number(id)) : undefined
}

/** Whether a text has the form of an id, of a place or not, so that nobody takes it for a name. */
export const looksLikeId = (text: string): boolean => /^(?:geo|hiring):|^\d+$/.test(text)

function liveCode(id: number): Code | undefined {
  if (id < firstCity) return Object.keys(countries).find((code) => countries[code] === id)
  if (id < firstCode) return id - firstCity
  const letters = (id - firstCode).toString(36).toUpperCase()
  return letters.length > 2 ? `${letters.slice(0, 2)}.${letters.slice(2)}` : letters
}
