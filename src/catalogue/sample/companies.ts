import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { countries, getCountry, type SampleCountry } from './countries.js'
import fixedCompanies from './fixed-companies.json' with { type: 'json' }
import type { SampleCompany, SeededRandom } from './random.js'
import words from './words.json' with { type: 'json' }

const { industries, nameBeginnings, nameEndings, technologies } = words

/** Companies with a headcount history by department; the others have one for the whole company only. */
const detailed = 1_000

/** Yields the hand-written companies, then invented ones until there are `wanted`; adds each to `made`. */
export function* sampleCompanies(
  random: SeededRandom,
  wanted: number,
  made: SampleCompany[],
): Generator<RawRecord> {
  const taken = new Set<string>()
  for (const company of fixedCompanies.map(toFixedRecord)) {
    yield rememberCompany(addHistory(random, company, true), made, taken)
  }
  while (made.length < wanted)
    yield rememberCompany(
      addHistory(random, inventCompany(random, made.length, taken), made.length < detailed),
      made,
      taken,
    )
}

/** Returns one of the companies that every sample begins with, regardless of its size and seed. */
function toFixedRecord({ founded, ...company }: (typeof fixedCompanies)[number], at: number): RawRecord {
  const { name: country, currency } = getCountry(company.country)
  const place = `${company.city}, ${country}`
  return {
    id: `00000000-0000-4000-8000-${String(at + 1).padStart(12, '0')}`,
    ...company,
    website: `https://www.${company.domain}/`,
    company_type: company.headcount > 3_000 ? 'Public' : 'Private',
    headquarters: place,
    location: place,
    founded_year: founded,
    revenue: company.headcount * 150_000,
    revenue_currency: currency,
    network_id: String(900_001 + at),
    network_url: `https://www.network.example/company/${company.domain.replace('.example', '')}`,
  }
}

function rememberCompany(company: RawRecord, made: SampleCompany[], taken: Set<string>): RawRecord {
  const { name, domain, country, city, headcount } = company as RawRecord & SampleCompany
  taken.add(domain)
  made.push({ name, domain, country, city, headcount })
  return company
}

function inventCompany(random: SeededRandom, number: number, taken: ReadonlySet<string>): RawRecord {
  const country = random.pick(countries)
  const core = `${random.pick(nameBeginnings)} ${random.pick(nameEndings)}`
  const form = random.chance(0.8) ? random.pick(country.forms) : ''
  const name = `${core}${form.startsWith(',') ? '' : ' '}${form}`.trim()
  const slug = pickFreeSlug(foldText(core).replaceAll(' ', '-'), number, taken)
  const { id: industryId, name: industry } = random.pick(industries)
  const { city, region } = random.pick(country.cities)
  const headcount = Math.round(Math.exp(random.faker.number.float({ min: 1, max: 9.6 })))
  const domain = `${slug}.example`
  return {
    id: random.faker.string.uuid(),
    name,
    domain,
    website: `https://www.${domain}/`,
    description: `${core}: ${random.namesIn('en').company.catchPhrase().toLowerCase()} for ${industry.toLowerCase()}.`,
    industry,
    industry_id: industryId,
    company_type: headcount > 5_000 ? 'Public' : 'Private',
    headcount,
    headquarters: `${city}, ${country.name}`,
    location: `${city}, ${region}, ${country.name}`,
    city,
    country: country.code,
    founded_year: random.integer(1905, 2022),
    revenue: headcount * random.integer(60, 320) * 1_000,
    revenue_currency: country.currency,
    phone: inventPhone(random, country),
    network_id: String(1_000_000 + number),
    network_url: `https://www.network.example/company/${slug}`,
    company_profile_picture: `https://media.network.example/logos/${slug}.png`,
    technologies: random.faker.helpers
      .arrayElements(technologies, { min: 0, max: 8 })
      .map(({ slug }) => slug),
  }
}

const pickFreeSlug = (slug: string, number: number, taken: ReadonlySet<string>): string =>
  taken.has(`${slug}.example`) ? `${slug}-${number}` : slug

/** Returns a number from a range that a country reserves for fiction; `undefined` when it has none. */
export function inventPhone(random: SeededRandom, country: SampleCountry): string | undefined {
  if (country.phones.length === 0) return undefined
  return random.pick(country.phones).replace(/x/g, () => String(random.integer(0, 9)))
}

/** Adds details of the company's technologies, and its headcount history. */
function addHistory(random: SeededRandom, company: RawRecord, withDepartments: boolean): RawRecord {
  const slugs = company.technologies as readonly string[]
  return {
    ...company,
    technology_details: slugs.map((slug) => inventTechnologyUse(random, slug)),
    headcount_history: inventHistory(random, company.headcount as number, withDepartments),
  }
}

function inventTechnologyUse(random: SeededRandom, slug: string): RawRecord {
  const known = technologies.find((technology) => technology.slug === slug)
  return { slug, ...known, confidence: random.integer(2, 10) / 10, job_mentions: random.integer(0, 40) }
}

const departments = { Engineering: 0.35, Sales: 0.2, Marketing: 0.1, Operations: 0.15 } as const

function inventHistory(random: SeededRandom, headcount: number, withDepartments: boolean): RawRecord[] {
  const monthly = random.faker.number.float({ min: -0.015, max: 0.04 })
  const shares = Object.entries({ All: 1, ...(withDepartments ? departments : {}) })
  const months = withDepartments ? Array.from({ length: 14 }, (_, month) => month) : [0, 3, 6, 12]
  return months.flatMap((month) =>
    shares.map(([department, share]) => ({
      date: random.daysAgo(month * 30.5),
      department,
      headcount: Math.max(0, Math.round((headcount * share) / (1 + monthly) ** month)),
    })),
  )
}
