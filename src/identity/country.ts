import { createRequire } from 'node:module'
import { isCountry } from '../api/values/dates.js'
import { once } from '../api/values/objects.js'
import countrySpellings from './country-spellings.json' with { type: 'json' }
import { foldText } from './name.js'
import { toPlainText } from './spelling.js'

/** Common spellings that are neither codes nor official names, folded. */
const spellings: Readonly<Record<string, string>> = countrySpellings

/** Countries are few, and reading their names is slow. */
const codes = new Map<string, string | undefined>()
const maxTexts = 10_000

/**
 * Returns the ISO 3166-1 alpha-2 code of a country given by a code (two or three letters, three digits, a car's sign such as
 * `D`), by a flag, or by its name in a language of Western Europe. What may be two countries is none.
 */
export function toCountryCode(text: string): string | undefined {
  if (codes.has(text)) return codes.get(text)
  const code = readCountryCode(text)
  if (codes.size < maxTexts) codes.set(text, code)
  return code
}

function readCountryCode(text: string): string | undefined {
  const trimmed = toPlainText(text).trim()
  const upper = trimmed.toUpperCase()
  if (/^[A-Z]{2}$/.test(upper) && isCountry(upper)) return upper
  if (trimmed.length === 1) return Object.hasOwn(plates, trimmed) ? plates[trimmed] : undefined
  if (/^\d{3}$/.test(trimmed)) return countries().numericToAlpha2(trimmed)
  if (flag.test(trimmed)) return readFlag(trimmed)
  // Official lists write `Bahamas (the)`.
  const whole = foldText(trimmed)
  const folded = whole.replace(/^the | the$/g, '')
  if (folded === '' || ambiguous.has(whole)) return undefined
  return Object.hasOwn(spellings, folded) ? spellings[folded] : findCountryByName(upper, folded)
}

/** Signs of cars in one letter, as address files of Europe have them; of those that are also read as something else, none. */
const plates: Readonly<Record<string, string>> = {
  A: 'AT',
  B: 'BE',
  D: 'DE',
  E: 'ES',
  F: 'FR',
  H: 'HU',
  I: 'IT',
  L: 'LU',
  P: 'PT',
}

/** Names that two countries have. */
const ambiguous: ReadonlySet<string> = new Set(['congo', 'kongo', 'korea', 'corea', 'coree'])

const flag = /^[\u{1f1e6}-\u{1f1ff}]{2}$/u

function readFlag(text: string): string | undefined {
  const letters = [...text].map((sign) => String.fromCharCode((sign.codePointAt(0) ?? 0) - 0x1f1e6 + 65))
  return isCountry(letters.join('')) ? letters.join('') : undefined
}

/** Only files need the names of countries, so they are loaded on first use. */
const countries = once(
  () => createRequire(import.meta.url)('i18n-iso-countries/index.js') as typeof import('i18n-iso-countries'),
)

function findCountryByName(upper: string, folded: string): string | undefined {
  if (/^[A-Z]{3}$/.test(upper)) return countries().alpha3ToAlpha2(upper)
  return readNames().get(folded) ?? readWordKeys().get(wordKey(folded)) ?? readPair(upper)
}

/** Returns the words of a folded name in one order: official lists write `Moldova (the Republic of)`. */
const wordKey = (folded: string): string =>
  folded
    .split(' ')
    .filter((word) => !['the', 'of', 'and'].includes(word))
    .sort()
    .join(' ')

/** Returns codes by the words of names, but for those that two countries share. */
const readWordKeys = once((): ReadonlyMap<string, string | undefined> => {
  const read = new Map<string, string | undefined>()
  for (const [folded, code] of [...Object.entries(spellings), ...readNames()]) {
    const key = wordKey(folded)
    read.set(key, !read.has(key) || read.get(key) === code ? code : undefined)
  }
  return read
})

/** Returns the code in a text with a code and a name that agree, such as `DE - Germany` and `Germany (DE)`. */
function readPair(text: string): string | undefined {
  const [, before, name] = /^\(?([A-Z]{1,3})\)?\s*[-–:/|\s]\s*(\p{L}{4}.*)$/u.exec(text) ?? []
  const [, other, behind] = /^(.*\p{L}{4})\s*[-–:/|(,\s]\s*([A-Z]{1,3})\)?$/u.exec(text) ?? []
  const [code, full] = before === undefined ? [behind, other] : [before, name]
  if (code === undefined || full === undefined) return readTranslations(text)
  const found = toCountryCode(code)
  return found !== undefined && found === toCountryCode(full) ? found : undefined
}

/** Returns the code of names in several languages that mean the same: `Deutschland / Germany`. */
function readTranslations(text: string): string | undefined {
  const parts = text.split(/\s*[/|;(]\s*|\)\s*$/).filter((part) => part !== '')
  const [first, ...others] = parts.length > 1 ? parts.map((part) => toCountryCode(part)) : []
  return others.every((code) => code === first) ? first : undefined
}

const languages = ['en', 'fr', 'de', 'es', 'it', 'nl', 'pt', 'sv', 'da', 'nb', 'fi', 'pl']

/** Returns codes by folded names. Of two countries with one name, the first in the order of languages. */
const readNames = once((): ReadonlyMap<string, string> => {
  const require = createRequire(import.meta.url)
  const read = new Map<string, string>()
  for (const language of languages) {
    const list = require(
      `i18n-iso-countries/langs/${language}.json`,
    ) as typeof import('i18n-iso-countries/langs/en.json')
    for (const [code, spellings] of Object.entries(list.countries))
      for (const spelling of [spellings].flat()) {
        const folded = foldText(spelling)
        if (!read.has(folded)) read.set(folded, code)
      }
  }
  return read
})
