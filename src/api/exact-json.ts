/**
 * JSON whose whole numbers keep their digits. Where a number would lose some (beyond 2^53) it is a `bigint` inside, and
 * the same digits again when it is written.
 */

/** Reads JSON; throws what `JSON.parse` throws. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!/\d{16}/.test(text)) return value
  // No string of the value has the mark, however it was escaped in the text.
  const mark = markBeyond(JSON.stringify(value))
  const marked = text.replace(token, (word) => (isInexact(word) ? `"${mark}${word}"` : word))
  return JSON.parse(marked, (_, one: unknown) =>
    typeof one === 'string' && one.startsWith(mark) ? BigInt(one.slice(mark.length)) : one,
  )
}

/** Reads the JSON of a body as it arrived, which may begin with a byte order mark. */
export const parseBody = (body: string): unknown => parseExact(body.replace(/^\ufeff/, ''))

/** Writes JSON, as `JSON.stringify` does; `null` for what has no JSON. */
export function toJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? 'null'
  } catch (error) {
    // Of a bigint; asking for one with a replacer would slow down everything else.
    if (!(error instanceof TypeError)) throw error
    return exactJson(value, indent)
  }
}

function exactJson(value: unknown, indent: number | undefined): string {
  const written = (shown: (exact: bigint) => unknown) =>
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? shown(one) : one), indent)
  const mark = markBeyond(written(Number))
  return written((exact) => `${mark}${exact}`).replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}

/** Whether JSON text nests deeper than so many levels: told without parsing it, which could take long. */
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

/** A string, or a number. */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Whether a number would be written with other digits than it was read with. */
const isInexact = (word: string): boolean => /^-?\d{16,}$/.test(word) && String(Number(word)) !== word

/** A run of `#` longer than any in a text. */
function markBeyond(text: string): string {
  let mark = '#'
  while (text.includes(mark)) mark += mark
  return mark
}
