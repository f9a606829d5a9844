import type { Given } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { fixedCompanies } from './fixed-records.js'
import { type Place, places } from './places.js'
import type { SampleCompany, SeededRandom } from './random.js'
import { industries, nameBeginnings, nameEndings, technologies } from './words.js'

/** Companies with a history by department; the others have only their own growth. */
const detailed = 1_000

/** The hand-written companies, then as many made-up ones as are wanted; `made` remembers them. */
export function* sampleCompanies(
  dice: SeededRandom,
  wanted: number,
  made: SampleCompany[],
): Generator<Given> {
  const taken = new Set<string>()
  for (const company of fixedCompanies()) {
    yield remembered(grown(dice, company, true), made, taken)
  }
  while (made.length < wanted)
    yield remembered(grown(dice, invented(dice, made.length, taken), made.length < detailed), made, taken)
}

function remembered(company: Given, made: SampleCompany[], taken: Set<string>): Given {
  const { name, domain, country, city, headcount } = company as Given & SampleCompany
  taken.add(domain)
  made.push({ name, domain, country, city, headcount })
  return company
}

function invented(dice: SeededRandom, number: number, taken: ReadonlySet<string>): Given {
  const place = dice.pick(places)
  const core = `${dice.pick(nameBeginnings)} ${dice.pick(nameEndings)}`
  const form = dice.chance(0.8) ? dice.pick(place.forms) : ''
  const name = `${core}${form.startsWith(',') ? '' : ' '}${form}`.trim()
  const slug = freeSlug(foldText(core).replaceAll(' ', '-'), number, taken)
  const [industryId, industry] = dice.pick(industries)
  const [city, region] = dice.pick(place.cities)
  const headcount = Math.round(Math.exp(dice.faker.number.float({ min: 1, max: 9.6 })))
  const domain = `${slug}.example`
  return {
    id: dice.faker.string.uuid(),
    name,
    domain,
    website: `https://www.${domain}/`,
    description: `${core}: ${dice.of('en').company.catchPhrase().toLowerCase()} for ${industry.toLowerCase()}.`,
    industry,
    industry_id: industryId,
    company_type: headcount > 5_000 ? 'Public' : 'Private',
    headcount,
    headquarters: `${city}, ${place.name}`,
    location: `${city}, ${region}, ${place.name}`,
    city,
    country: place.country,
    founded_year: dice.whole(1905, 2022),
    revenue: headcount * dice.whole(60, 320) * 1_000,
    revenue_currency: place.currency,
    phone: phoneIn(dice, place),
    network_id: String(1_000_000 + number),
    network_url: `https://www.network.example/company/${slug}`,
    company_profile_picture: `https://media.network.example/logos/${slug}.png`,
    technologies: dice.faker.helpers
      .arrayElements(technologies, { min: 0, max: 8 })
      .map(([technology]) => technology),
  }
}

const freeSlug = (slug: string, number: number, taken: ReadonlySet<string>): string =>
  taken.has(`${slug}.example`) ? `${slug}-${number}` : slug

/** A number out of a range that a country reserves for fiction, if it has one. */
export function phoneIn(dice: SeededRandom, place: Place): string | undefined {
  if (place.phones.length === 0) return undefined
  return dice.pick(place.phones).replace(/x/g, () => String(dice.whole(0, 9)))
}

/** Adds what the company's technologies rest on, and how it came to its headcount. */
function grown(dice: SeededRandom, company: Given, withDepartments: boolean): Given {
  const slugs = company.technologies as readonly string[]
  return {
    ...company,
    technology_details: slugs.map((slug) => technologyDetail(dice, slug)),
    headcount_history: history(dice, company.headcount as number, withDepartments),
  }
}

function technologyDetail(dice: SeededRandom, slug: string): Given {
  const [, name, category] = technologies.find(([known]) => known === slug) ?? []
  return { slug, name, category, confidence: dice.whole(2, 10) / 10, job_mentions: dice.whole(0, 40) }
}

const departments = { Engineering: 0.35, Sales: 0.2, Marketing: 0.1, Operations: 0.15 } as const

function history(dice: SeededRandom, headcount: number, withDepartments: boolean): Given[] {
  const monthly = dice.faker.number.float({ min: -0.015, max: 0.04 })
  const shares = Object.entries({ All: 1, ...(withDepartments ? departments : {}) })
  const months = withDepartments ? Array.from({ length: 14 }, (_, month) => month) : [0, 3, 6, 12]
  return months.flatMap((month) =>
    shares.map(([department, share]) => ({
      date: dice.daysAgo(month * 30.5),
      department,
      headcount: Math.max(0, Math.round((headcount * share) / (1 + monthly) ** month)),
    })),
  )
}
