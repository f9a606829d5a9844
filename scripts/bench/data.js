/** Invented companies for measurements: the same number always gives the same company, and no domain is real. */
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const industries = ['Robotics', 'Software Development', 'Financial Services', 'Education', 'Automotive']
const countries = ['FR', 'DE', 'GB', 'US', 'JP', 'BR']
const cities = ['Lyon', 'Bremen', 'Leeds', 'Austin', 'Osaka', 'Recife']
const first = ['North', 'Blue', 'Cobalt', 'Silver', 'Open', 'Quiet', 'Amber', 'Grand']
const second = ['Harbour', 'Works', 'Field', 'Bridge', 'Forge', 'Valley', 'Signal', 'Orchard']

const pick = (list, number) => list[number % list.length]

/** Domain of the company with a number; those at or above the size of the catalogue are unknown. */
export const domainOf = (number) => `company-${number}.example`

const nameOf = (number) => `${pick(first, number)} ${pick(second, number >> 3)} ${number}`

/** A company with every field filled, as a bought or grown catalogue has them; each edition says something else of it. */
function company(number, edition) {
  const domain = domainOf(number)
  const name = nameOf(number)
  const [city, country] = [pick(cities, number), pick(countries, number)]
  const industry = number % industries.length
  const id = 1_000_000 + number
  return {
    name,
    domain,
    website: `https://www.${domain}/`,
    description: `"${name} designs, builds and repairs what its customers in ${city} need. Founded by ${edition + 2} engineers, it is still owned by the people who work there, and ships to a dozen countries."`,
    industry: industries[industry],
    industry_id: 4 + industry,
    company_type: 'P',
    employee_range: '51-200',
    headcount: ((number + edition) % 150) + 51,
    headquarters: `"${city}, ${country}"`,
    location: `"${city}, ${country}"`,
    city,
    country,
    founded_year: 1950 + (number % 70),
    revenue: (number % 500) * 1_000_000,
    revenue_currency: 'EUR',
    phone: phoneOf(number),
    network_id: id,
    network_url: `https://www.network.example/company/${id}`,
    company_profile_picture: `https://media.network.example/${id}/logo.png`,
    technologies: 'nodejs;postgresql;react;kubernetes',
  }
}

const phoneOf = (number) => `+1202555${String(number % 10_000).padStart(4, '0')}`

/** The columns of the lists that people keep; without a choice, rows have every column. */
const usual = [
  'name',
  'domain',
  'description',
  'industry',
  'employee_range',
  'headcount',
  'city',
  'country',
  'founded_year',
  'network_url',
]

/**
 * Writes a catalogue of so many companies, as `data import companies` takes it: with every column, or with those of a
 * usual list.
 */
export const writeCompanies = (file, count, { edition = 0, isUsual = false } = {}) =>
  writeRecords(file, count, (number) => company(number, edition), isUsual ? usual : undefined)

const titles = [
  'Sales Manager',
  'Software Engineer',
  'Head of Finance',
  'Designer',
  'Buyer',
  'Data Scientist',
]
const seniorities = ['Senior', 'Entry Level', 'Director', 'Training']
const given = [
  'Ana',
  'Ben',
  'Chloé',
  'Dirk',
  'Elif',
  'Fumi',
  'Gina',
  'Hugo',
  'Inès',
  'Jon',
  'Kaja',
  'Leo',
  'Mia',
]
const syllables = ['ba', 'den', 'kor', 'li', 'mar', 'no', 'pel', 'ri', 'sa', 'tu', 'vel', 'zo']

/** A word that looks made up, of so many syllables; a number always gives the same. */
const word = (number, length) =>
  Array.from({ length }, (_, at) => pick(syllables, Math.imul(number + at, 2_654_435_761) >>> (at + 7))).join(
    '',
  )

/** A person as a usual list has them, at one of so many companies. */
function person(number, companies, edition) {
  const last = word(number, 3)
  const domain = domainOf((Math.imul(number, 2_654_435_761) >>> 0) % companies)
  return {
    first_name: pick(given, number),
    last_name: last,
    title: pick(titles, number + edition),
    seniority: pick(seniorities, number),
    city: pick(cities, number),
    country: pick(countries, number),
    email: `${last}.${number}@${domain}`,
    phone: phoneOf(number),
    network_profile_url: `https://www.network.example/in/${last}-${number}`,
    company_domain: domain,
  }
}

/** Writes so many people at so many companies, as `data import people` takes it. */
export const writePeople = (file, count, companies, { edition = 0 } = {}) =>
  writeRecords(file, count, (number) => person(number, companies, edition))

function writeRecords(file, count, make, columns = Object.keys(make(0))) {
  const row = (number) => {
    const record = make(number)
    return `${columns.map((column) => record[column]).join(',')}\n`
  }
  return writeRows(file, columns.join(','), count, row)
}

/**
 * Writes a file to enrich: so many different domains, with names and notes that a person might keep beside
 * them. `known` says how many of every ten are in the catalogue; `start` makes files of equal size differ.
 */
export const writeQuestions = (file, count, { catalogue, known, start = 0 }) =>
  writeRows(file, 'Company,Website,Note', count, (row) => {
    const inside = row % 10 < known
    const place = Math.floor(row / 10) * known + (row % 10)
    const number = inside ? (place + start) % catalogue : catalogue + row
    return `${nameOf(number)},https://www.${domainOf(number)}/about?from=${start},"row ${row}, to be checked"\n`
  })

function writeRows(file, head, count, row) {
  const size = 1000
  function* chunks() {
    yield `${head}\n`
    for (let at = 0; at < count; at += size) {
      yield Array.from({ length: Math.min(size, count - at) }, (_, index) => row(at + index)).join('')
    }
  }
  return pipeline(Readable.from(chunks()), createWriteStream(file))
}
