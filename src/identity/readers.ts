import { isRefusal, Refusal } from '../api/calls/errors.js'
import { companySizes, emailStatuses, emailStatusOf } from '../api/schemas/enumerations.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { toCountryCode } from './country.js'
import { foldText, toPersonName } from './name.js'
import { partsOf } from './spelling.js'
import { toCompanyDomain, toEmail } from './value-kinds.js'

/** Reads one field of a record: `undefined` when absent or blank. Throws a Refusal when invalid. */
export type FieldReader<T> = (value: unknown) => T | undefined

/** Returns the refusal of a value or record; the reason is for the author of the file. */
export const invalid = (reason: string): Refusal => new Refusal('record.invalid', {}, reason)

export const isInvalid = (error: unknown): error is Refusal => isRefusal(error, 'record.invalid')

/** Text; numbers and booleans are converted, and a lone surrogate becomes U+FFFD. */
export const text: FieldReader<string> = (value) => {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'object') throw invalid('must be text')
  const words = (typeof value === 'string' ? value : String(value)).toWellFormed().trim()
  if (words.includes('\0')) throw invalid('must not contain NUL')
  return words === '' ? undefined : words
}

/** Creates a reader of what a text means; a blank one is `undefined`. */
const fromText =
  <T>(read: (words: string) => T | undefined): FieldReader<T> =>
  (value) => {
    const words = text(value)
    return words === undefined ? undefined : read(words)
  }

/** Creates a reader of text that an index has: PostgreSQL refuses entries of more than about 2,700 bytes. */
export const textWithin = (maxBytes: number) =>
  fromText((words) => {
    if (Buffer.byteLength(words) > maxBytes) throw invalid(`'${shorten(words)}' is too long`)
    return words
  })

/** Text that an index has folded: that may be twelve times as long. */
export const indexedText = textWithin(200)

/** A number in which dots stand between thousands, and a comma before decimals. */
const european = /^[+-]?\d{1,3}(?:(?:\.\d{3})+(?:,\d+|\.\d{3})|(?:,\d{1,2}))$/

/** A number, possibly with a currency sign, with anything usual between thousands, and with a decimal comma. */
export const decimal = fromText((words) => {
  const bare = words
    .replace(/^[€$£¥]\s*|\s*[€$£¥]$/g, '')
    .replace(/(?<=\d)[\s'’\u202f](?=\d{3}(?!\d))|,(?=\d{3}(?!\d))/g, '')
  const plain = european.test(bare) ? bare.replaceAll('.', '').replace(',', '.') : bare
  const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : Number.NaN
  if (!Number.isFinite(number)) throw invalid(`must be a number, not '${shorten(words)}'`)
  return number
})

/** A whole number of 0 or more. */
export const wholeNumber: FieldReader<number> = (value) => {
  const number = decimal(value)
  if (number === undefined) return undefined
  if (!Number.isSafeInteger(number) || number < 0)
    throw invalid(`must be a whole number of 0 or more, not '${number}'`)
  return number
}

const yes = new Set(['true', 'yes', 'y', '1', 'oui', 'x'])
const no = new Set(['false', 'no', 'n', '0', 'non'])

export const bool = fromText((words) => {
  const word = words.toLowerCase()
  if (yes.has(word) || no.has(word)) return yes.has(word)
  throw invalid(`must be true or false, not '${shorten(word)}'`)
})

/** A list of texts: an array, or one text that lists them. */
export const texts: FieldReader<string[]> = (value) => {
  const items = Array.isArray(value) ? value : partsOf(text(value) ?? '')
  const kept = items.map((item) => text(item)).filter((item) => item !== undefined)
  return kept.length === 0 && !Array.isArray(value) ? undefined : [...new Set(kept)]
}

/** Creates a reader of values of JSON, which may be given as a text. */
const fromJson =
  <T>(isExpected: (value: unknown) => value is T, expected: string): FieldReader<T> =>
  (value) => {
    const given = typeof value === 'string' ? parseFieldJson(value) : value
    if (given === undefined || given === null) return undefined
    if (!isExpected(given)) throw invalid(`must be ${expected}`)
    return given
  }

const isObjects = (value: unknown): value is Fields[] => Array.isArray(value) && value.every(isObject)

/** A list of objects: an array, or its JSON. */
export const objects = fromJson(isObjects, 'a list of objects')

export const object = fromJson(isObject, 'an object')

/** A person's name, or a part of it, without pronouns and degrees behind it. */
export const nameOfPerson = fromText(toPersonName)

/** The two-letter code of a country given by code or name. */
export const country = fromText((words) => {
  const code = toCountryCode(words)
  if (code === undefined)
    throw invalid(`'${shorten(words)}' is not a country: give its ISO code of two letters`)
  return code
})

/** The domain of the company that a website, host or email address stands for. */
export const domain = fromText((words) => {
  const found = toCompanyDomain(words)
  if (found === undefined) throw invalid(`no website domain in '${shorten(words)}'`)
  return found
})

export const email = fromText((words) => {
  const address = toEmail(words)
  if (address === undefined) throw invalid(`'${shorten(words)}' is not an email address`)
  return address
})

/** The verification status of an email address, in the word of any service. */
export const emailStatus = fromText((words) => {
  const word = emailStatusOf(words)
  if (word === null) return undefined
  const status = emailStatuses.find((one) => one === word)
  if (status === undefined)
    throw invalid(`must be ${emailStatuses.join(', ')} or a word for one, not '${shorten(words)}'`)
  return status
})

/** A date or date-time in ISO 8601, kept as written. */
export const date = fromText((words) => {
  if (!/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/.test(words) || Number.isNaN(Date.parse(words)))
    throw invalid(`must be a date such as 2025-01-31, not '${shorten(words)}'`)
  return words
})

/** A company size, with any dash and with or without thousands separators. */
export const employeeRange = fromText((words) => {
  const range = parseCompanySize(words)
  if (!range) throw invalid(`must be a company size (${companySizes.join(', ')}), not '${shorten(words)}'`)
  return range
})

/** Returns the company size that a text names; `undefined` when none. */
export function parseCompanySize(words: string): (typeof companySizes)[number] | undefined {
  const plain = words
    .toLowerCase()
    .replace(/[\s,]|employees|employés/g, '')
    .replace(/[–—]|to/g, '-')
  return sizes.get(plain)
}

const sizes = new Map(companySizes.map((size) => [size.toLowerCase(), size]))

/** Creates a reader of labels, given in any case or by id; other text stays as it is. */
export const labelFrom = (labels: Readonly<Record<string, string>>) => {
  const known = Object.values(labels)
  return fromText((words) => {
    if (known.includes(words)) return words
    const folded = foldText(words)
    return labels[words] ?? known.find((label) => foldText(label) === folded) ?? words
  })
}

/** Shortens text to 60 characters, for a message. */
export const shorten = (words: string): string => (words.length > 60 ? `${words.slice(0, 59)}…` : words)

function parseFieldJson(json: string): unknown {
  if (json.trim() === '') return undefined
  try {
    return JSON.parse(json)
  } catch {
    throw invalid('must be JSON')
  }
}
