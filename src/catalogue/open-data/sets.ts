import { Refusal } from '../../api/calls/errors.js'
import { nearest } from '../../api/values/nearest.js'

/** How a value of a set is made into one of ours; without any, it is read as it is. */
export type Conversion =
  | 'name'
  | 'place'
  | 'industry'
  | 'activity'
  | 'profile'
  | 'size'
  | 'type'
  | 'status'
  | 'year'

/** The column of a field, or the columns of which the first that is filled counts. */
interface OfColumn {
  readonly column: string | readonly string[]
  readonly as?: Conversion
}

/** Open data about companies, as it is published. */
export interface OpenSet {
  readonly name: string
  readonly title: string
  readonly publisher: string
  /** The columns that tell it: all that there are, those that it begins with, or those that are among others. */
  readonly header: { readonly is: 'all' | 'first' | 'among'; readonly columns: readonly string[] }
  readonly format: string
  readonly rows: string
  readonly licence: string
  readonly licence_url: string
  readonly address: string
  /** The column of each field of a company. */
  readonly fields: Readonly<Record<string, string | OfColumn>>
  /** The country of all companies, where no column says it. */
  readonly country?: string
  readonly has: readonly string[]
  readonly lacks: readonly string[]
}

/** What open data about companies never has. */
const nowhere = ['people', 'email addresses of people', 'technologies', 'job postings'] as const

/**
 * The sets that `data import companies` recognises by their header: the one place that knows them. Registers and lists that
 * may not be used for prospecting, or that hold no names, are left out on purpose.
 */
export const openSets: readonly OpenSet[] = [
  {
    name: 'people-data-labs',
    title: 'People Data Labs, free company dataset',
    publisher: 'People Data Labs',
    header: {
      is: 'all',
      columns: [
        'country',
        'founded',
        'id',
        'industry',
        'linkedin_url',
        'locality',
        'name',
        'region',
        'size',
        'website',
      ],
    },
    format: 'CSV (commas or pipes) or JSON lines, zip or gz',
    rows: '22 to 35 million',
    licence: 'CC BY 4.0',
    licence_url: 'https://creativecommons.org/licenses/by/4.0/',
    address: 'https://docs.peopledatalabs.com/docs/free-company-dataset',
    fields: {
      name: { column: 'name', as: 'name' },
      domain: 'website',
      network_url: 'linkedin_url',
      industry: { column: 'industry', as: 'industry' },
      employee_range: { column: 'size', as: 'size' },
      founded_year: { column: 'founded', as: 'year' },
      city: { column: 'locality', as: 'place' },
      location: { column: 'region', as: 'place' },
      country: 'country',
    },
    has: ['name', 'domain', 'profile', 'industry', 'size range', 'city', 'country', 'year'],
    lacks: ['exact headcount', 'revenue', 'phone', ...nowhere],
  },
  {
    name: 'bigpicture',
    title: 'BigPicture companies, 2023 Q4',
    publisher: 'BigPicture',
    header: {
      is: 'all',
      columns: [
        'handle',
        'name',
        'website',
        'industry',
        'size',
        'type',
        'founded',
        'city',
        'state',
        'country_code',
      ],
    },
    format: '.csv.gz, 629 MB',
    rows: '17,154,017',
    licence: 'ODC-BY',
    licence_url: 'https://opendatacommons.org/licenses/by/1-0/',
    address: 'https://docs.bigpicture.io/docs/free-datasets/companies/',
    fields: {
      name: { column: 'name', as: 'name' },
      domain: 'website',
      network_url: { column: 'handle', as: 'profile' },
      industry: { column: 'industry', as: 'industry' },
      employee_range: { column: 'size', as: 'size' },
      company_type: { column: 'type', as: 'type' },
      founded_year: { column: 'founded', as: 'year' },
      city: { column: 'city', as: 'place' },
      location: { column: 'state', as: 'place' },
      country: 'country_code',
    },
    has: ['name', 'domain', 'profile', 'industry', 'size range', 'type', 'city', 'country', 'year'],
    lacks: ['anything after 2023', 'exact headcount', 'revenue', 'phone', ...nowhere],
  },
  {
    name: 'brreg',
    title: 'Enhetsregisteret, the register of Norway (enheter)',
    publisher: 'Brønnøysundregistrene',
    header: {
      is: 'among',
      columns: [
        'organisasjonsnummer',
        'navn',
        'organisasjonsform.kode',
        'naeringskode1.kode',
        'antallAnsatte',
        'hjemmeside',
        'epostadresse',
        'forretningsadresse.poststed',
        'forretningsadresse.landkode',
        'stiftelsesdato',
        'konkurs',
      ],
    },
    format: '.csv.gz, new every day',
    rows: '1.47 million',
    licence: 'NLOD 2.0',
    licence_url: 'https://data.norge.no/nlod/en/2.0',
    address: 'https://data.brreg.no/enhetsregisteret/api/enheter/lastned/csv',
    fields: {
      name: 'navn',
      legal_name: 'navn',
      registry_number: 'organisasjonsnummer',
      registry_status: { column: 'konkurs', as: 'status' },
      website: { column: ['hjemmeside', 'epostadresse'] },
      phone: { column: ['telefon', 'mobil'] },
      industry: { column: ['naeringskode1.kode', 'naeringskode1.beskrivelse'], as: 'activity' },
      headcount: 'antallAnsatte',
      company_type: { column: 'organisasjonsform.kode', as: 'type' },
      founded_year: { column: 'stiftelsesdato', as: 'year' },
      city: { column: 'forretningsadresse.poststed', as: 'place' },
      country: 'forretningsadresse.landkode',
    },
    country: 'NO',
    has: ['name', 'number', 'status', 'phone', 'headcount', 'industry', 'city', 'year', 'domain of a fifth'],
    lacks: ['domain of most', 'profile', 'revenue', ...nowhere],
  },
  {
    name: 'wikidata',
    title: 'Wikidata, companies of one country',
    publisher: 'Wikidata',
    header: {
      is: 'all',
      columns: [
        'item',
        'itemLabel',
        'website',
        'founded',
        'countryCode',
        'industryLabel',
        'employees',
        'linkedin',
        'headquartersLabel',
      ],
    },
    format: 'CSV of the query service, by docs/examples/wikidata-companies.rq',
    rows: 'up to some 10,000 of a country',
    licence: 'CC0',
    licence_url: 'https://creativecommons.org/publicdomain/zero/1.0/',
    address: 'https://query.wikidata.org/',
    fields: {
      name: 'itemLabel',
      website: 'website',
      network_url: { column: 'linkedin', as: 'profile' },
      industry: { column: 'industryLabel', as: 'industry' },
      headcount: 'employees',
      founded_year: { column: 'founded', as: 'year' },
      city: 'headquartersLabel',
      country: 'countryCode',
    },
    has: ['name', 'domain', 'profile', 'industry', 'headcount', 'city', 'country', 'year'],
    lacks: ['small firms', 'revenue', 'phone', ...nowhere],
  },
  {
    name: 'companies-house',
    title: 'Companies House, basic company data of the United Kingdom',
    publisher: 'Companies House',
    header: { is: 'first', columns: ['CompanyName', 'CompanyNumber', 'RegAddress.CareOf'] },
    format: 'CSV in a zip, new every month',
    rows: '5.7 million',
    licence: 'OGL 3',
    licence_url: 'https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/',
    address: 'https://download.companieshouse.gov.uk/en_output.html',
    fields: {
      name: 'CompanyName',
      legal_name: 'CompanyName',
      registry_number: 'CompanyNumber',
      registry_status: 'CompanyStatus',
      industry: { column: 'SICCode.SicText_1', as: 'activity' },
      company_type: { column: 'CompanyCategory', as: 'type' },
      founded_year: { column: 'IncorporationDate', as: 'year' },
      city: { column: 'RegAddress.PostTown', as: 'place' },
    },
    country: 'GB',
    has: ['number', 'legal name', 'status', 'city', 'year'],
    lacks: ['domain', 'profile', 'size', 'phone', ...nowhere],
  },
  {
    name: 'gleif',
    title: 'GLEIF level 1, legal entities of all countries',
    publisher: 'GLEIF',
    header: { is: 'first', columns: ['LEI', 'Entity.LegalName', 'Entity.LegalName.xmllang'] },
    format: 'CSV in a zip, three times a day',
    rows: '3.4 million',
    licence: 'CC0',
    licence_url: 'https://creativecommons.org/publicdomain/zero/1.0/',
    address: 'https://www.gleif.org/en/lei-data/gleif-golden-copy/download-the-golden-copy',
    fields: {
      name: 'Entity.LegalName',
      legal_name: 'Entity.LegalName',
      registry_number: { column: ['Entity.RegistrationAuthority.RegistrationAuthorityEntityID', 'LEI'] },
      registry_status: { column: 'Entity.EntityStatus', as: 'status' },
      founded_year: { column: 'Entity.EntityCreationDate', as: 'year' },
      city: { column: ['Entity.HeadquartersAddress.City', 'Entity.LegalAddress.City'], as: 'place' },
      country: { column: ['Entity.LegalAddress.Country', 'Entity.HeadquartersAddress.Country'] },
    },
    has: ['number', 'legal name', 'status', 'city', 'country', 'year'],
    lacks: ['domain', 'profile', 'industry', 'size', 'phone', ...nowhere],
  },
]

export const openSetNames = openSets.map(({ name }) => name)

/** Returns a set by its name. Throws where there is none. */
export function findSet(name: string): OpenSet {
  const set = openSets.find((one) => one.name === name)
  if (!set)
    throw new Refusal('import.no_source', { name, known: openSetNames, near: nearest(name, openSetNames) })
  return set
}
