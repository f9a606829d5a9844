import { createRequire } from 'node:module'
import { isCountry } from '../../api/values/countries.js'
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
