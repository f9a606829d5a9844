/** A country in which the sample has companies and people. */
export interface SampleCountry {
  readonly code: string
  readonly name: string
  readonly language: 'en' | 'fr' | 'de' | 'es' | 'nl' | 'sv'
  readonly currency: string
  readonly cities: readonly (readonly [city: string, region: string])[]
  readonly forms: readonly string[]
  /** Numbers reserved for fiction in E.164, `x` for a digit; empty when a country reserves none. */
  readonly phones: readonly string[]
}

/** Countries of the invented companies, with their legal forms and phone numbers. */
export const countries: readonly SampleCountry[] = [
  {
    code: 'FR',
    name: 'France',
    language: 'fr',
    currency: 'EUR',
    cities: [
      ['Paris', 'Île-de-France'],
      ['Lyon', 'Auvergne-Rhône-Alpes'],
      ['Nantes', 'Pays de la Loire'],
      ['Toulouse', 'Occitanie'],
      ['Saint-Étienne', 'Auvergne-Rhône-Alpes'],
    ],
    forms: ['SAS', 'SARL', 'S.A.', 'SASU'],
    phones: ['+3363998xxxx', '+3319900xxxx', '+3326191xxxx'],
  },
  {
    code: 'US',
    name: 'United States',
    language: 'en',
    currency: 'USD',
    cities: [
      ['New York', 'New York'],
      ['Austin', 'Texas'],
      ['Denver', 'Colorado'],
      ['Boston', 'Massachusetts'],
    ],
    forms: ['Inc.', 'LLC', 'Corp.', ', Inc.'],
    phones: ['+121255501xx', '+151255501xx', '+161755501xx'],
  },
  {
    code: 'GB',
    name: 'United Kingdom',
    language: 'en',
    currency: 'GBP',
    cities: [
      ['London', 'England'],
      ['Manchester', 'England'],
      ['Edinburgh', 'Scotland'],
    ],
    forms: ['Ltd', 'Limited', 'PLC', '& Co. Ltd'],
    phones: ['+447700900xxx', '+442079460xxx', '+441134960xxx'],
  },
  {
    code: 'DE',
    name: 'Germany',
    language: 'de',
    currency: 'EUR',
    cities: [
      ['Berlin', 'Berlin'],
      ['München', 'Bayern'],
      ['Köln', 'Nordrhein-Westfalen'],
      ['Hamburg', 'Hamburg'],
    ],
    forms: ['GmbH', 'AG', 'GmbH & Co. KG', 'SE'],
    phones: ['+4917139200xx', '+493023125xxx'],
  },
  {
    code: 'ES',
    name: 'Spain',
    language: 'es',
    currency: 'EUR',
    cities: [
      ['Madrid', 'Comunidad de Madrid'],
      ['Málaga', 'Andalucía'],
      ['Barcelona', 'Cataluña'],
    ],
    forms: ['S.L.', 'S.A.', 'S.L.U.'],
    phones: [],
  },
  {
    code: 'NL',
    name: 'Netherlands',
    language: 'nl',
    currency: 'EUR',
    cities: [
      ['Amsterdam', 'Noord-Holland'],
      ['Utrecht', 'Utrecht'],
      ['Eindhoven', 'Noord-Brabant'],
    ],
    forms: ['B.V.', 'N.V.'],
    phones: [],
  },
  {
    code: 'SE',
    name: 'Sweden',
    language: 'sv',
    currency: 'SEK',
    cities: [
      ['Stockholm', 'Stockholms län'],
      ['Göteborg', 'Västra Götalands län'],
      ['Malmö', 'Skåne län'],
    ],
    forms: ['AB'],
    phones: ['+467017406xx'],
  },
  {
    code: 'CA',
    name: 'Canada',
    language: 'en',
    currency: 'CAD',
    cities: [
      ['Toronto', 'Ontario'],
      ['Montréal', 'Québec'],
    ],
    forms: ['Inc.', 'Ltée', 'Corp.'],
    phones: ['+141655501xx'],
  },
]

const otherCountries: Readonly<Record<string, string>> = {
  AU: 'Australia',
  BE: 'Belgium',
  FI: 'Finland',
  JP: 'Japan',
  MX: 'Mexico',
  NO: 'Norway',
}

/** Returns a country by its code. One outside the list has no phone numbers and English names. */
export function getCountry(code: string): SampleCountry {
  const known = countries.find((one) => one.code === code)
  const name = otherCountries[code] ?? code
  return known ?? { code, name, language: 'en', currency: 'EUR', cities: [], forms: [], phones: [] }
}
