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

const header = [
  ...[
    'name',
    'domain',
    'website',
    'description',
    'industry',
    'industry_id',
    'company_type',
    'employee_range',
  ],
  ...[
    'headcount',
    'headquarters',
    'location',
    'city',
    'country',
    'founded_year',
    'revenue',
    'revenue_currency',
  ],
  ...['phone', 'network_id', 'network_url', 'company_profile_picture', 'technologies'],
].join(',')

/** A company with every field filled, as a bought or grown catalogue has them; each edition says something else of it. */
const companyRow = (number, edition) => {
  const domain = domainOf(number)
  const name = nameOf(number)
  const place = number % cities.length
  const industry = number % industries.length
  const description = `${name} designs, builds and repairs what its customers in ${cities[place]} need. Founded by ${edition + 2} engineers, it is still owned by the people who work there, and ships to a dozen countries.`
  const id = 1_000_000 + number
  return `${name},${domain},https://www.${domain}/,"${description}",${industries[industry]},${4 + industry},P,51-200,${((number + edition) % 150) + 51},"${cities[place]}, ${countries[place]}","${cities[place]}, ${countries[place]}",${cities[place]},${countries[place]},${1950 + (number % 70)},${(number % 500) * 1_000_000},EUR,+1202555${String(number % 10_000).padStart(4, '0')},${id},https://www.network.example/company/${id},https://media.network.example/${id}/logo.png,nodejs;postgresql;react;kubernetes\n`
}

/** Writes a catalogue of so many companies, as `data import companies` takes it. */
export const writeCompanies = (file, count, edition = 0) =>
  writeRows(file, header, count, (number) => companyRow(number, edition))

const titles = [
  'Sales Manager',
  'Software Engineer',
  'Head of Finance',
  'Designer',
  'Buyer',
  'Data Scientist',
]
const seniorities = ['Senior', 'Entry Level', 'Director', 'Training']
const functions = ['Sales', 'Engineering', 'Finance', 'Purchasing']
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

const peopleHeader = [
  ...['first_name', 'last_name', 'title', 'headline', 'summary', 'seniority', 'function', 'location', 'city'],
  ...[
    'country',
    'connections_count',
    'started_at',
    'years_of_experience',
    'network_id',
    'network_profile_url',
  ],
  ...['profile_image_url', 'email', 'email_status', 'personal_email', 'phone', 'company_domain'],
].join(',')

/** A person with every usual field filled, at one of so many companies. */
const personRow = (number, companies, edition) => {
  const [first, last] = [pick(given, number), word(number, 3)]
  const place = number % cities.length
  const domain = domainOf((Math.imul(number, 2_654_435_761) >>> 0) % companies)
  const title = pick(titles, number + edition)
  const summary = `${first} works on ${word(number >> 3, 2)} and ${word(number >> 5, 2)} for ${word(number, 2)}, and likes ${word(number >> 7, 2)}.`
  const id = `ACwAA${Buffer.from(`${Math.imul(number + 1, 2_654_435_761) >>> 0}-${number}`).toString('base64url')}`
  const url = `https://www.network.example/in/${word(number, 3)}-${number}`
  const started = `20${10 + (number % 15)}-0${(number % 9) + 1}-01`
  return `${first},${last},${title},"${title}, ${domain}","${summary}",${pick(seniorities, number)},${pick(functions, number)},"${cities[place]}, ${countries[place]}",${cities[place]},${countries[place]},${number % 500},${started},${number % 40},${id},${url},https://media.network.example/in/${number}.jpg,${last}.${number}@${domain},valid,${last}.${number}@mail.example,+1202555${String(number % 10_000).padStart(4, '0')},${domain}\n`
}

/** Writes so many people at so many companies, as `data import people` takes it. */
export const writePeople = (file, count, companies, edition = 0) =>
  writeRows(file, peopleHeader, count, (number) => personRow(number, companies, edition))

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
