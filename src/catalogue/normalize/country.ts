import { createRequire } from 'node:module'
import { isCountry } from '../../api/values/countries.js'
import type { Given } from '../kinds/kind.js'
import { foldText } from './name.js'

// Names of countries in two languages are needed by imports only.
const load = createRequire(import.meta.url)

/** Spellings in daily use that are neither codes nor official names, folded. */
const spellings: Readonly<Record<string, string>> = {
  uk: 'GB',
  england: 'GB',
  scotland: 'GB',
  wales: 'GB',
  'great britain': 'GB',
  angleterre: 'GB',
  'grande bretagne': 'GB',
  usa: 'US',
  america: 'US',
  'etats unis': 'US',
  'united states': 'US',
  holland: 'NL',
  'pays bas': 'NL',
  'the netherlands': 'NL',
  deutschland: 'DE',
  espana: 'ES',
  italia: 'IT',
  osterreich: 'AT',
  schweiz: 'CH',
  belgie: 'BE',
  danmark: 'DK',
  norge: 'NO',
  sverige: 'SE',
  suomi: 'FI',
  polska: 'PL',
  brasil: 'BR',
  'czech republic': 'CZ',
  turkey: 'TR',
  russia: 'RU',
  'south korea': 'KR',
  vietnam: 'VN',
  uae: 'AE',
  'ivory coast': 'CI',
}

/** The ISO 3166-1 alpha-2 code of a country given as code of two or three letters or by its name in English or French. */
export function countryOf(text: string): string | undefined {
  const upper = text.trim().toUpperCase()
  if (/^[A-Z]{2}$/.test(upper) && isCountry(upper)) return upper
  const folded = foldText(text)
  if (folded === '') return undefined
  return Object.hasOwn(spellings, folded) ? spellings[folded] : namedCountry(upper, folded)
}

function namedCountry(upper: string, folded: string): string | undefined {
  const countries = load('i18n-iso-countries/index.js') as typeof import('i18n-iso-countries')
  if (/^[A-Z]{3}$/.test(upper)) return countries.alpha3ToAlpha2(upper)
  for (const language of ['en', 'fr']) {
    const { countries: names } = load(`i18n-iso-countries/langs/${language}.json`) as CountryNames
    for (const [code, name] of Object.entries(names))
      if ([name].flat().some((spelling) => foldText(spelling) === folded)) return code
  }
  return undefined
}

interface CountryNames {
  readonly countries: Readonly<Record<string, string | readonly string[]>>
}

/** Spellings remembered at once. */
const maxRemembered = 10_000

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
    if (read.size < maxRemembered) read.set(text, code)
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
