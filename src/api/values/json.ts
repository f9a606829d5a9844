import { parse } from 'lossless-json'

/**
 * JSON whose numbers keep their value. An integer that would lose digits (beyond 2^53) is a `bigint` in memory, and a
 * number that would become infinite (`1e400`) is a raw one. Both are written as they were read.
 */

/** Returns the value of JSON text, with exact integers. Throws a `SyntaxError` when it is not JSON. */
export function parseExact(text: string): unknown {
  return isParsedSlowly(text) ? parseSlowly(text, exactNumber) : JSON.parse(text)
}

const isParsedSlowly = (text: string): boolean => unusualNumber.test(text) || hasEscapedKey(text)

/** An integer of sixteen digits, or an exponent of three, where a number may end: ids in quotes have such digits, too. */
const unusualNumber = /(?<!\d)\d{16,}(?=[\s,\]}]|$)|\d[eE]\+?\d{3,}(?=[\s,\]}]|$)/

/**
 * Returns the value of JSON text whose keys other people have chosen, as `JSON.parse` does. `JSON.parse` of Node 24 and
 * 26 takes an escaped key for another one once it has read a key with a backslash (measured: 24.21 and 26.10 read
 * `{"\"":1}` as `{"\\":1}`; 22.23 does not).
 */
export function parseJson(text: string): unknown {
  return hasEscapedKey(text) ? parseSlowly(text, Number) : JSON.parse(text)
}

function parseSlowly(text: string, parseNumber: (digits: string) => unknown): unknown {
  return parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
}

/** Longest integer that is computed with: reading a longer one takes time that grows faster than its length. */
const maxDigits = 400

/** Returns a `bigint` for an integer that a number would write with other digits, and raw JSON for an infinite number. */
function exactNumber(digits: string): unknown {
  const number = Number(digits)
  const isExact = digits.length <= maxDigits && /^-?\d{16,}$/.test(digits) && String(number) !== digits
  if (isExact) return BigInt(digits)
  return Number.isFinite(number) ? number : rawJson(digits)
}

// TypeScript does not know of it yet.
const { rawJSON: rawJson, isRawJSON: isRawJson } = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/** Returns whether a value is a number that is too large for a number of JavaScript. */
export const isTooLarge = (value: unknown): boolean =>
  typeof value === 'number' ? !Number.isFinite(value) : isRawJson(value)

/** Returns what is wrong with JSON of a request: a field `__proto__`, or a number that is infinite here. */
export function hazardIn(value: object): string | undefined {
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return 'A field must not be named __proto__'
    const inner = (value as Record<string, unknown>)[key]
    if (isTooLarge(inner)) return 'The request body has a number that is too large'
    const hazard = typeof inner === 'object' && inner !== null ? hazardIn(inner) : undefined
    if (hazard !== undefined) return hazard
  }
  return undefined
}

/** Returns whether a key of JSON text has an escape sequence in it; reads each character at most once. */
function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    at++
    while (isBlank(text.charCodeAt(at))) at++
    if (text[at] === ':') return true
  }
  return false
}

const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)

/** Reads the JSON of a body as it arrived, which may begin with a byte order mark. */
export const parseBody = (body: string): unknown => parseExact(withoutMark(body))

/** The same of an answer of others that is only read here: a number that would become infinite is its text. */
export function parseForeign(body: string): unknown {
  const text = withoutMark(body)
  if (!isParsedSlowly(text)) return JSON.parse(text)
  return parseSlowly(text, (digits) => (Number.isFinite(Number(digits)) ? exactNumber(digits) : digits))
}

const withoutMark = (text: string): string => text.replace(/^\ufeff/, '')

/** Writes JSON, as `JSON.stringify` does; `null` for what has no JSON. */
export function toJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? 'null'
  } catch (error) {
    // Thrown for a `bigint`. Looking for one with a replacer would slow down everything else.
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, writeExact, indent) ?? 'null'
  }
}

/** Writes JSON that people may see: terminals obey more control characters than `JSON.stringify` escapes. */
export const toPrintableJson = (value: unknown, indent?: number) => escapeControls(toJson(value, indent))

const writeExact = (_: string, value: unknown) => (typeof value === 'bigint' ? rawJson(String(value)) : value)

/** Returns JSON with sorted fields, so that equal values have equal texts. */
export function toCanonicalJson(value: unknown): string {
  // `JSON.stringify` throws for each, and a body may hold tens of thousands.
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null || isRawJson(value)) return toJson(value)
  const fields = value as Record<string, unknown>
  const members = Object.keys(fields)
    .filter((name) => fields[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${toCanonicalJson(fields[name])}`)
  return `{${members.join(',')}}`
}

/** Limits of JSON text from others, which are checked before it is parsed. */
interface JsonLimits {
  readonly depth: number
  /** Values, those inside of others included. An empty array or object counts twice. */
  readonly values: number
}

/** Returns which limit JSON text exceeds, without parsing it, which could take long; `undefined` when none. */
export function exceededLimit(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  if (text.length <= Math.min(limits.depth, limits.values)) return undefined
  const found = countValuesWithin(text, limits)
  return typeof found === 'number' ? undefined : found
}

/** Whether JSON text is nested more than so many levels deep. */
export const isDeeperThan = (text: string, depth: number): boolean =>
  exceededLimit(text, { depth, values: Number.POSITIVE_INFINITY }) !== undefined

/** Returns how many values JSON text has, as its limit counts them. */
export const countValues = (text: string): number =>
  countValuesWithin(text, { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }) as number

function countValuesWithin(text: string, limits: JsonLimits): keyof JsonLimits | number {
  let [depth, values, quoted] = [0, 1, false]
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x22) quoted = !quoted
    else if (quoted) at += char === 0x5c ? 1 : 0
    else if (char === 0x2c || char === 0x5b || char === 0x7b) {
      if (++values > limits.values) return 'values'
      if (char !== 0x2c && ++depth > limits.depth) return 'depth'
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return values
}

// Control characters and marks of text direction: a terminal or a page would obey them instead of showing them.
// The classes of Unicode by their ranges: each takes a while to make by its name.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const controls = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g

const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns text with control characters as `\uXXXX`, except line breaks and tabs. In JSON, its value stays the same. */
export const escapeControls = (text: string): string => text.replace(controls, toEscape)
