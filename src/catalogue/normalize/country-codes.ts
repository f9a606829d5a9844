import type { Given } from '../kinds/kind.js'
import { countryOf } from './country.js'

/** Spellings remembered at once. */
const most = 10_000

/**
 * Puts codes in place of the names of countries. It remembers what it has read: a file names few countries, but
 * many times, and finding one among all names takes long. A name that is no country's is left for its field to
 * refuse.
 */
export function countryCodes(): (given: Given) => Given {
  const read = new Map<string, string | undefined>()
  const codeOf = (text: string): string | undefined => {
    if (read.has(text)) return read.get(text)
    const code = countryOf(text)
    if (read.size < most) read.set(text, code)
    return code
  }
  return (given) => {
    for (const field of ['country', 'country_code']) {
      const text = given[field]
      if (typeof text !== 'string' || /^[A-Z]{2}$/.test(text)) continue
      const code = codeOf(text)
      if (code !== undefined) return { ...given, [field]: code }
    }
    return given
  }
}
