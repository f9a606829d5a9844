import { createHash } from 'node:crypto'
import type { VendorKind, Vendors } from '../api/ports/ports.js'
import { toCanonicalJson } from '../api/values/json.js'
import type { Fields } from '../api/values/objects.js'
import { parseNetworkUrl } from '../api/values/url.js'
import { toCountryCode } from '../identity/country.js'
import { describePhone, toE164 } from '../identity/phone.js'
import { toDomain } from '../identity/value-kinds.js'
import type { Subject } from './compile.js'
import type { SubjectField } from './definition.js'

type Query = Parameters<Vendors['ask']>[1]

/** Returns what a row is known by, in one spelling. */
export function subjectOf(query: Query): Subject {
  const { firstName, lastName, companyName, domain, url, email, country } = query
  const names = [firstName, lastName].flatMap((name) => name?.trim() || [])
  const path = url === undefined ? undefined : parseNetworkUrl(url)?.path
  const all: Readonly<Record<SubjectField, string | undefined>> = {
    first_name: firstName?.trim(),
    last_name: lastName?.trim(),
    full_name: names.length === 2 ? names.join(' ') : undefined,
    company_name: companyName?.trim(),
    domain: domain === undefined ? undefined : (toDomain(domain) ?? domain.trim().toLowerCase()),
    network_url: url?.trim(),
    network_handle: path?.split('/')[1],
    email: email?.trim().toLowerCase(),
    country,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value))
}

/** Returns the hash of a question; the case of letters and the spelling of a profile's URL make no other one. */
export function identityOf({ network_url: url, ...fields }: Subject): string {
  const profile = url && { network_url: parseNetworkUrl(url)?.path.replace(/\/$/, '') ?? url }
  const text = toCanonicalJson({ ...fields, ...profile }).toLowerCase()
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

const toText = (name: string, value: string): string =>
  (name === 'country' ? toCountryCode(value) : undefined) ?? value.slice(0, 5_000)

const email = /^[^\s@\p{C}]+@[^\s@\p{C}]+\.[^\s@\p{C}]+$/u
const statuses = ['valid', 'risky', 'invalid']

/** Returns the values of an answer as we know them; `undefined` where what was asked for is not there. */
export function readResult(kind: VendorKind, result: Fields, { country }: Subject): Fields | undefined {
  const address = (value: unknown) =>
    typeof value === 'string' && value.length <= 254 && email.test(value.trim())
      ? value.trim().toLowerCase()
      : undefined
  const status = (value: unknown) => (statuses.includes(String(value)) ? value : 'risky')
  const phones = (value: unknown) =>
    [value].flat().flatMap((one) => {
      const number = typeof one === 'string' ? toE164(one, country) : undefined
      return number === undefined ? [] : [describePhone(number)]
    })
  if (kind === 'verify')
    return statuses.includes(String(result.email_status)) ? { email_status: result.email_status } : undefined
  if (kind === 'phone') {
    const phone = phones(result.phone)
    return phone.length > 0 ? { phone } : undefined
  }
  if (kind === 'email' || kind === 'personal_email') {
    const found = address(result[kind])
    return found === undefined
      ? undefined
      : { [kind]: found, [`${kind}_status`]: status(result[`${kind}_status`]) }
  }
  const { email: mail, email_status, phone, headcount, founded_year, ...texts } = result
  const counts = Object.entries({ headcount, founded_year }).flatMap(([name, value]) =>
    Number.isSafeInteger(Number(value)) && value !== undefined ? [[name, Number(value)]] : [],
  )
  const known = Object.entries(texts).flatMap(([name, value]) =>
    typeof value === 'object' ? [] : [[name, toText(name, String(value))]],
  )
  const found = address(mail)
  const fields = {
    ...Object.fromEntries([...known, ...counts]),
    ...(found === undefined ? {} : { email: found, email_status: status(email_status) }),
    ...(phones(phone).length > 0 ? { phone: phones(phone) } : {}),
  }
  return Object.keys(fields).length > 0 ? fields : undefined
}
