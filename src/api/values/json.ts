import { parse, stringify } from 'lossless-json'

/**
 * JSON whose integers keep their digits. One that would lose some (beyond 2^53) is a `bigint` in memory, and is
 * written with the same digits.
 */

/** Returns the value of JSON text, with exact integers. Throws a `SyntaxError` when it is not JSON. */
export function parseExact(text: string): unknown {
  return /\d{16}/.test(text) || hasEscapedKey(text) ? parseSlowly(text, exactNumber) : JSON.parse(text)
}

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

/** Returns a `bigint` for an integer that a number would write with other digits. */
const exactNumber = (digits: string): number | bigint =>
  /^-?\d{16,}$/.test(digits) && String(Number(digits)) !== digits ? BigInt(digits) : Number(digits)

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
export const parseBody = (body: string): unknown => parseExact(body.replace(/^\ufeff/, ''))

/** Writes JSON, as `JSON.stringify` does; `null` for what has no JSON. */
export function toJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? 'null'
  } catch (error) {
    // Thrown for a `bigint`. Looking for one with a replacer would slow down everything else.
    if (!(error instanceof TypeError)) throw error
    return stringify(value, null, indent) ?? 'null'
  }
}

/** Writes JSON that is the same whatever the order of keys; absent fields are left out. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return toJson(value)
  const fields = value as Record<string, unknown>
  const members = Object.keys(fields)
    .filter((name) => fields[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${toCanonicalJson(fields[name])}`)
  return `{${members.join(',')}}`
}

/** Returns whether JSON text nests deeper than `levels`, without parsing it, which could take long. */
export function isDeeperThan(text: string, levels: number): boolean {
  if (text.length <= 2 * levels) return false
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x22) quoted = !quoted
    else if (quoted && char === 0x5c) at++
    else if (quoted) continue
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > levels) return true
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return false
}
