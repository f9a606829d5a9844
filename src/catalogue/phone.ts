import { short, text, Unreadable } from './values.js'

/** Calling code and the prefix of national numbers by country; numbers from elsewhere come with their `+`. */
const plans: Readonly<Record<string, readonly [code: string, prefix: string]>> = {
  AE: ['971', '0'],
  AR: ['54', '0'],
  AT: ['43', '0'],
  AU: ['61', '0'],
  BE: ['32', '0'],
  BG: ['359', '0'],
  BR: ['55', '0'],
  CA: ['1', '1'],
  CH: ['41', '0'],
  CL: ['56', ''],
  CN: ['86', '0'],
  CO: ['57', ''],
  CZ: ['420', ''],
  DE: ['49', '0'],
  DK: ['45', ''],
  EE: ['372', ''],
  EG: ['20', '0'],
  ES: ['34', ''],
  FI: ['358', '0'],
  FR: ['33', '0'],
  GB: ['44', '0'],
  GR: ['30', ''],
  HK: ['852', ''],
  HR: ['385', '0'],
  HU: ['36', '06'],
  ID: ['62', '0'],
  IE: ['353', '0'],
  IL: ['972', '0'],
  IN: ['91', '0'],
  IT: ['39', ''],
  JP: ['81', '0'],
  KR: ['82', '0'],
  LT: ['370', '0'],
  LU: ['352', ''],
  LV: ['371', ''],
  MA: ['212', '0'],
  MX: ['52', ''],
  MY: ['60', '0'],
  NL: ['31', '0'],
  NO: ['47', ''],
  NZ: ['64', '0'],
  PL: ['48', ''],
  PT: ['351', ''],
  RO: ['40', '0'],
  RS: ['381', '0'],
  SE: ['46', '0'],
  SG: ['65', ''],
  SI: ['386', '0'],
  SK: ['421', '0'],
  TN: ['216', ''],
  TR: ['90', '0'],
  UA: ['380', '0'],
  US: ['1', '1'],
  ZA: ['27', '0'],
}

/** A phone number in E.164, from E.164 with any separators, or from a national number and its country. */
export function phoneOf(value: unknown, country: string | undefined): string | undefined {
  const words = text(value)
  if (words === undefined) return undefined
  const bare = words
    .replace(/^'/, '')
    .replace(/\(0\)/g, '')
    .replace(/[\s().\-–/\u00a0]/g, '')
  const number = bare.startsWith('+')
    ? bare
    : bare.startsWith('00')
      ? `+${bare.slice(2)}`
      : national(bare, country)
  if (number === undefined || !/^\+[1-9]\d{6,14}$/.test(number))
    throw new Unreadable(
      `phone '${short(words)}' must be in E.164, such as +33612345678, or have a country beside it`,
    )
  return number
}

function national(digits: string, country: string | undefined): string | undefined {
  const plan = country === undefined ? undefined : plans[country]
  if (!plan) return undefined
  const [code, prefix] = plan
  return `+${code}${prefix !== '' && digits.startsWith(prefix) ? digits.slice(prefix.length) : digits}`
}
