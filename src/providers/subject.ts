import { createHash } from 'node:crypto'
import type { VendorKind } from '../api/operations/facts.js'
import type { Vendors } from '../api/ports/ports.js'
import { toCanonicalJson } from '../api/values/json.js'
import type { Fields } from '../api/values/objects.js'
import { toCountryCode } from '../identity/country.js'
import { profileKey } from '../identity/mentions.js'
import { foldPersonName, foldText, isNothing as isNothingWord } from '../identity/name.js'
import { isMasked, isNoAddress, isOffer, isRobot } from '../identity/no-address.js'
import { describePhone, toE164 } from '../identity/phone.js'
import { parseProfile } from '../identity/profile.js'
import { toPlainText } from '../identity/spelling.js'
import { toDomain, toEmail } from '../identity/value-kinds.js'
import { isColumnField, type Subject, type SubjectField } from './definition.js'

type Query = Parameters<Vendors['ask']>[1]

/** Returns what a row is known by, in one spelling. */
export function subjectOf(query: Query): Subject {
  const { firstName, lastName, companyName, domain, url, email, country, columns = {} } = query
  const names = [firstName, lastName].flatMap((name) => name?.trim() || [])
  const profile = url === undefined ? undefined : parseProfile(url)
  const all: Readonly<Record<SubjectField, string | undefined>> = {
    first_name: firstName?.trim(),
    last_name: lastName?.trim(),
    full_name: names.length === 2 ? names.join(' ') : undefined,
    company_name: companyName?.trim(),
    domain: domain === undefined ? undefined : (toDomain(domain) ?? domain.trim().toLowerCase()),
    network_url: url?.trim(),
    network_handle: profile?.slug ?? profile?.id,
    email: email === undefined ? undefined : (toEmail(email) ?? email.trim().toLowerCase()),
    country,
  }
  const ofRow = Object.entries(columns).map(([name, value]) => [`input.${name}`, value] as const)
  return Object.fromEntries([...Object.entries(all), ...ofRow].filter(([, value]) => value))
}

/** Returns the hash of a question; another spelling of the same is no other one. */
export function identityOf({ network_url: url, ...given }: Subject): string {
  const { first_name, last_name, ...rest } = given
  const fields =
    given.full_name === undefined ? given : { ...rest, full_name: foldPersonName(given.full_name) }
  const profile = url === undefined ? undefined : parseProfile(url)
  const known = url && { network_url: profile ? profileKey(profile) : toPlainText(url) }
  const plain = Object.entries(fields).map(([field, text = '']) => [
    field,
    isColumnField(field) ? text : /name$/.test(field) ? foldText(text) || text : text.toLowerCase(),
  ])
  const text = toCanonicalJson({ ...Object.fromEntries(plain), ...known })
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

const toText = (name: string, value: string): string =>
  (name === 'country' ? toCountryCode(value) : undefined) ?? value.slice(0, 5_000)

const statuses = ['valid', 'risky', 'invalid']

/** Words that vendors write where they have no value, or do not show it. */
const nothingWords = new Set(
  `unknown|undefined|nan|nil|false|not found|not available|unavailable|not unlocked|locked|hidden|redacted|no email|no phone
    |no data|no result|not disclosed`
    .split('|')
    .map((words) => words.trim()),
)

/** Whether a value of an answer says that there is none. One that the answer lacks is not known. */
export function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isNothing)
  if (typeof value !== 'string') return value === null || value === false
  const words = value.trim()
  const bare = words.toLowerCase().replace(/^[<[(]|[>\])]$/g, '')
  return words === '' || isNothingWord(words) || nothingWords.has(bare.replace(/[_-]/g, ' '))
}

/** Whether a value is one that a field can have: an address, a number, or any text that is not for none. */
export function isValueOf(field: string, value: unknown): boolean {
  if (value === undefined || isNothing(value)) return false
  if (/^(?:personal_)?email$/.test(field)) return ![undefined, 'nothing'].includes(toAddress(value))
  return field === 'phone' ? [value].flat().some((one) => !isNothing(one) && !isHiddenNumber(one)) : true
}

const hiddenNumber = /[*•●…]|\.{2,}|x{2,}|#{2,}/i

/** Returns an address as we know it; `nothing` where it only stands for one, `undefined` for other text. */
function toAddress(value: unknown): string | undefined {
  if (isNothing(value)) return 'nothing'
  if (typeof value !== 'string' || value.length > 320 || /\p{C}/u.test(value.trim())) return undefined
  const found = toEmail(value)
  if (isMasked(value) || isOffer(value)) return 'nothing'
  if (found !== undefined && (isNoAddress(found) || isRobot(found))) return 'nothing'
  return found !== undefined && found.length <= 254 ? found : undefined
}

const isHiddenNumber = (value: unknown): boolean =>
  typeof value === 'string' && (hiddenNumber.test(value) || isOffer(value))

/** Returns the numbers among values; `nothing` where there are none, `undefined` where they are no numbers. */
function toNumbers(value: unknown, country: string | undefined) {
  const values = [value].flat()
  const numbers = values.flatMap((one) => {
    const text = typeof one === 'number' ? String(one) : one
    const number = typeof text === 'string' && !isHiddenNumber(text) ? toE164(text, country) : undefined
    return number === undefined ? [] : [describePhone(number)]
  })
  if (numbers.length > 0) return numbers
  return values.every((one) => isNothing(one) || isHiddenNumber(one)) ? 'nothing' : undefined
}

/**
 * Returns the values of an answer as we know them: `nothing` where it says that there is none, `undefined` where what was
 * asked for is not there.
 */
export function readResult(
  kind: VendorKind,
  result: Fields,
  { country }: Subject,
): Fields | 'nothing' | undefined {
  const status = (value: unknown) => (statuses.includes(String(value)) ? value : 'risky')
  if (kind === 'verify') {
    const { email_status } = result
    if (statuses.includes(String(email_status))) return { email_status }
    return isNothing(email_status) ? 'nothing' : undefined
  }
  if (kind === 'phone') {
    const phone = toNumbers(result.phone, country)
    return Array.isArray(phone) ? { phone } : phone
  }
  if (kind === 'email' || kind === 'personal_email') {
    const found = toAddress(result[kind])
    return found === undefined || found === 'nothing'
      ? found
      : { [kind]: found, [`${kind}_status`]: status(result[`${kind}_status`]) }
  }
  const { email: mail, email_status, phone, headcount, founded_year, ...texts } = result
  const counts = Object.entries({ headcount, founded_year }).flatMap(([name, value]) =>
    Number.isSafeInteger(Number(value)) && value !== undefined && !isNothing(value)
      ? [[name, Number(value)]]
      : [],
  )
  const known = Object.entries(texts).flatMap(([name, value]) =>
    value === undefined || typeof value === 'object' || isNothing(value)
      ? []
      : [[name, toText(name, String(value))]],
  )
  const found = toAddress(mail)
  const numbers = toNumbers(phone, country)
  const fields = {
    ...Object.fromEntries([...known, ...counts]),
    ...(found === undefined || found === 'nothing'
      ? {}
      : { email: found, email_status: status(email_status) }),
    ...(Array.isArray(numbers) ? { phone: numbers } : {}),
  }
  if (Object.keys(fields).length > 0) return fields
  const given = Object.values({ ...texts, mail: found === 'nothing' ? null : mail, phone, headcount })
  return given.some((value) => value !== undefined) &&
    given.every((value) => value === undefined || isNothing(value))
    ? 'nothing'
    : undefined
}
