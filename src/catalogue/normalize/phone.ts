import { e164Of } from './e164.js'
import { short, text, Unreadable } from './readers.js'

/** A phone number in E.164, from E.164 with any separators, or from a national number and its country. */
export function phoneOf(value: unknown, country: string | undefined): string | undefined {
  // A spreadsheet keeps a number that begins with `+` as text by an apostrophe.
  const words = text(value)?.replace(/^'/, '')
  if (words === undefined) return undefined
  const number = e164Of(words, country)
  if (number === undefined)
    throw new Unreadable(
      `phone '${short(words)}' must be in E.164, such as +33612345678, or have a country beside it`,
    )
  return number
}
