export const dayMs = 86_400_000

/** Returns the day (UTC) of a moment, such as 2026-02-28. */
export const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Returns a date such as 2026-02-28 as 00:00 UTC in milliseconds; `undefined` when there is no such day. */
export function dayOf(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(at) || isoDay(at) !== text ? undefined : at
}

/** How long a person has been in a position and in a company: full years, and the months beyond them. */
export type Tenure = Readonly<Record<`${'years' | 'months'}_in_${'position' | 'company'}`, number | null>>

/** Returns the tenure at a moment, from the day (or ISO 8601 moment) the position began; without one, as given. */
export function tenureAt(startedAt: string | null | undefined, given: Tenure, now: number): Tenure {
  const started = dayOf(startedAt?.slice(0, 10) ?? '')
  if (started === undefined) return given
  const months = monthsBetween(started, now)
  const [years_in_position, months_in_position] = [Math.floor(months / 12), months % 12]
  const position = { years_in_position, months_in_position }
  const { years_in_company, months_in_company } = given
  // A person who changed positions inside the company has been there for longer.
  if (monthsOf(years_in_company, months_in_company) > months)
    return { ...position, years_in_company, months_in_company }
  return { ...position, years_in_company: years_in_position, months_in_company: months_in_position }
}

/** Returns years and months in months; an unknown part counts as zero. */
export const monthsOf = (years: number | null | undefined, months: number | null | undefined): number =>
  (years ?? 0) * 12 + (months ?? 0)

/** Returns the full months from one moment to another in UTC; zero when it lies ahead. */
function monthsBetween(from: number, to: number): number {
  const [start, end] = [new Date(from), new Date(to)]
  const months =
    (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth()
  return Math.max(0, end.getUTCDate() < start.getUTCDate() ? months - 1 : months)
}

/** The ISO 3166-1 alpha-2 codes, and `XK`, which is in common use for Kosovo. */
export const countries =
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ ' +
  'CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO ' +
  'FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE ' +
  'JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO ' +
  'MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW ' +
  'PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM ' +
  'TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW'

/** Returns whether an upper-case code is one of them. */
export const isCountry = (code: string): boolean => /^[A-Z]{2}$/.test(code) && countries.includes(code)
