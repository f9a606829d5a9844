/** Invented companies in the published form of a set of open data: the same number always gives the same company. */
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { dice, pick } from './dice.js'

const places = [
  ['united states', 'US', ['austin', 'boston', 'chicago', 'seattle', 'denver']],
  ['united states', 'US', ['new york', 'atlanta', 'miami', 'dallas', 'houston']],
  ['germany', 'DE', ['berlin', 'hamburg', 'munich', 'leipzig']],
  ['united kingdom', 'GB', ['london', 'leeds', 'bristol', 'manchester']],
  ['france', 'FR', ['paris', 'lyon', 'lille', 'nantes']],
  ['brazil', 'BR', ['recife', 'curitiba']],
  ['india', 'IN', ['mumbai', 'pune']],
  ['', null, ['']],
]
/** As they are published, and as they are ours. */
const industries = [
  ['computer software', 'Software Development'],
  ['financial services', 'Financial Services'],
  ['automotive', 'Automotive'],
  ['internet', 'Technology, Information and Internet'],
  ['construction', 'Construction'],
  ['retail', 'Retail'],
  ['real estate', 'Real estate'],
  ['machinery', 'Machinery Manufacturing'],
  ['restaurants', 'Restaurants'],
  ['hospital & health care', 'Hospitals and Health Care'],
  ['marketing and advertising', 'Advertising Services'],
  ['wine and spirits', 'Beverage Manufacturing'],
]
const sizes = [
  '1-10',
  '1-10',
  '1-10',
  '1-10',
  '1-10',
  '11-50',
  '11-50',
  '51-200',
  '201-500',
  '501-1000',
  '1001-5000',
  '10001+',
]
const syllables = 'ba den kor li mar no pel ri sa tu vel zo an ter gra mi co lo ver sta'.split(' ')
/** Words of names, each with how many of a million companies have it. */
const topics = Object.entries({ robotics: 20_000, logistics: 8_000, solar: 2_000, falconry: 200 })
const forms = ['', '', '', ' inc.', ' gmbh', ' ltd', ' llc']

const word = (roll, length) => Array.from({ length }, () => pick(syllables, roll)).join('')

/** A company: the cells of its row, and what is to be found of it. */
export function openCompany(number) {
  const roll = dice(number)
  const [country, code, cities] = pick(places, roll)
  const [published, industry] = pick(industries, roll)
  const topic = topics.find(([, share]) => roll() * 1_000_000 < share)?.[0]
  const name = `${word(roll, 3)} ${topic ?? word(roll, 2)}`
  const slug = `${name.replace(' ', '-')}-${number}`
  const domain = roll() < 0.3 ? '' : `${slug}.example`
  const [city, size, founded] = [pick(cities, roll), pick(sizes, roll), 1900 + Math.floor(roll() * 124)]
  const written = name + pick(forms, roll)
  const cells = [
    country,
    roll() < 0.4 ? '' : founded,
    `${word(roll, 9)}${number}`,
    published,
    `linkedin.com/company/${slug}`,
    city,
    written,
    '',
    size,
    domain,
  ]
  return { cells, name, topic, country: code, city, size, industry, domain, slug }
}

const header = 'country,founded,id,industry,linkedin_url,locality,name,region,size,website\n'

/** Writes so many companies to a file, as People Data Labs publishes them. */
export async function writeOpenData(file, count) {
  const texts = function* () {
    let text = header
    for (let number = 0; number < count; number++) {
      text += `${openCompany(number).cells.join(',')}\n`
      if (text.length < 1_000_000) continue
      yield text
      text = ''
    }
    yield text
  }
  await pipeline(Readable.from(texts()), createWriteStream(file))
}

/** Searches of companies, each with what it asks for in plain words. */
export const openQuestions = [
  { keyword: 'robotics', included_locations: ['DE'], company_size: ['51-200', '201-500'] },
  { keyword: 'robotics', included_locations: ['US'], included_industries: ['96'] },
  { keyword: 'robotics', included_industries: ['Construction'], company_size: ['1-10'] },
  { keyword: 'logistics', included_locations: ['GB', 'FR'], company_size: ['11-50'] },
  { keyword: 'logistics', included_locations: ['IN'], excluded_industries: ['Retail'] },
  { keyword: 'logistics', included_industries: ['43', 'Retail'], company_size: ['1-10', '11-50'] },
  { keyword: 'solar', included_locations: ['BR'], company_size: ['1-10'] },
  { keyword: 'solar', included_industries: ['Machinery Manufacturing'], excluded_locations: ['US'] },
  { keyword: 'solar', included_locations: ['FR'], included_industries: ['4', '6'] },
  { keyword: 'falconry', included_locations: ['US'], company_size: ['1-10'] },
  { keyword: 'falconry', excluded_locations: ['DE'], included_industries: ['Restaurants'] },
  { keyword: 'falconry', company_size: ['1001-5000', '10001+'], excluded_industries: ['Retail'] },
]
