/** Where companies and people of the sample are. */
export interface Place {
  readonly country: string
  readonly name: string
  readonly language: 'en' | 'fr' | 'de' | 'es' | 'nl' | 'sv'
  readonly currency: string
  readonly cities: readonly (readonly [city: string, region: string])[]
  readonly forms: readonly string[]
  /** Numbers reserved for fiction in E.164, `x` for a digit; none where a country reserves none. */
  readonly phones: readonly string[]
}

/** Countries of the sample, with legal forms and numbering of their own. */
export const places: readonly Place[] = [
  {
    country: 'FR',
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
    country: 'US',
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
    country: 'GB',
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
    country: 'DE',
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
    country: 'ES',
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
    country: 'NL',
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
    country: 'SE',
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
    country: 'CA',
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

const elsewhere: Readonly<Record<string, string>> = {
  AU: 'Australia',
  BE: 'Belgium',
  FI: 'Finland',
  JP: 'Japan',
  MX: 'Mexico',
  NO: 'Norway',
}

/** The place of a country; one outside the list has no numbers and no names of its own. */
export function placeOf(country: string): Place {
  const place = places.find((one) => one.country === country)
  const name = elsewhere[country] ?? country
  return place ?? { country, name, language: 'en', currency: 'EUR', cities: [], forms: [], phones: [] }
}
