import type { Fields } from '../../src/api/values/objects.js'
import { foldText } from '../../src/identity/name.js'
import list from './countries.json' with { type: 'json' }
import fixedCompanies from './fixed-companies.json' with { type: 'json' }
import words from './words.json' with { type: 'json' }

/** The amount and seed of sample data. The same values give the same data. */
interface SampleOptions {
  /** Number of companies, 500 by default; never fewer than the hand-written ones. */
  readonly companies?: number
  /** Number of people, 5,000 by default. */
  readonly people?: number
  readonly seed?: number
  /** The latest date in the data, in milliseconds since 1970. */
  readonly now: number
}

/**
 * Invents companies, people, jobs and posts. Domains are reserved ones (`.example`), phone numbers come from ranges reserved
 * for fiction, and no person or company is real. The records of each kind are read once, in this order.
 */
export async function sampleData({ companies = 500, people = 5_000, seed = 1, now }: SampleOptions) {
  const random = await createSeededRandom(seed, now)
  const made: SampleCompany[] = []
  const profiles: string[] = []
  return {
    companies: sampleCompanies(random, companies, made),
    people: samplePeople(random, people, made, profiles),
    jobs: sampleJobs(random, made),
    posts: samplePosts(random, profiles),
  }
}

/** Yields open jobs of the given companies: none at every third, a few at the others. */
function* sampleJobs(random: SeededRandom, companies: readonly SampleCompany[]): Generator<Fields> {
  for (const [at, company] of companies.entries()) {
    if (at % 3 === 2) continue
    const count = random.integer(1, company.headcount > 1_000 ? 8 : 3)
    for (let number = 1; number <= count; number++) yield inventJob(random, company, number)
  }
}

function inventJob(random: SeededRandom, company: SampleCompany, number: number): Fields {
  const { title: english, french } = random.pick(words.positions)
  const language = company.country === 'FR' && random.chance(0.5) ? 'french' : 'english'
  const { name: technology } = random.pick(words.technologies)
  const title = { english, french }[language]
  return {
    job_title: title,
    job_url: `https://jobs.${company.domain}/openings/${number}`,
    job_location: `${company.city}, ${getCountry(company.country).name}`,
    country_code: company.country,
    employment_statuses: [random.pick(['Full-time', 'Full-time', 'Part-time', 'Contract', 'Internship'])],
    date_posted: random.daysAgo(random.integer(0, 120)),
    description: fillText(random, words.adverts[language], { ...company, title, technology }),
    hiring_team: [],
    company_domain: company.domain,
  }
}

/** Fills in a text what stands in braces: a field, or a number such as one of `{3-14}`. */
const fillText = (random: SeededRandom, text: string, fields: Fields): string =>
  text.replace(/\{(?:(\w+)|(\d+)-(\d+))\}/g, (_, field, min, max) =>
    String(field === undefined ? random.integer(Number(min), Number(max)) : fields[field]),
  )

/** Yields posts of some of the given people, with the people who reacted to them. */
function* samplePosts(random: SeededRandom, profiles: readonly string[]): Generator<Fields> {
  const posts = Math.min(40, profiles.length)
  for (let number = 1; number <= posts; number++) {
    const { name: technology } = random.pick(words.technologies)
    yield {
      post_url: `https://www.network.example/posts/${7_000_000 + number}`,
      author_profile_url: random.pick(profiles),
      text: `${random.pick(words.openings)} ${technology}: ${random.faker.company.catchPhrase().toLowerCase()}.`,
      published_at: `${random.daysAgo(random.integer(0, 90))}T09:00:00Z`,
      engagers: Array.from({ length: random.integer(3, 30) }, () => ({
        network_profile_url: random.pick(profiles),
        engagement: random.chance(0.7) ? 'reaction' : 'comment',
      })),
    }
  }
}

/** Yields people at the given companies, more of them at larger ones; adds their urls to `profiles`. */
function* samplePeople(
  random: SeededRandom,
  wanted: number,
  companies: readonly SampleCompany[],
  profiles: string[],
): Generator<Fields> {
  const ladder = cumulateWeights(companies)
  for (let number = 0; number < wanted; number++) {
    // The hand-written companies come first, with three people each.
    const at = number < 75 ? number % 25 : drawIndex(random, ladder)
    const company = companies[at]
    if (!company) return
    const person = inventPerson(random, number, company, at)
    profiles.push(person.network_profile_url as string)
    yield person
  }
}

/** Returns running totals of the companies' weights. A company a hundred times as large has ten times the people. */
function cumulateWeights(companies: readonly SampleCompany[]): number[] {
  let total = 0
  return companies.map(({ headcount }) => {
    total += Math.sqrt(headcount)
    return total
  })
}

function drawIndex(random: SeededRandom, ladder: readonly number[]): number {
  const point = random.faker.number.float({ max: ladder.at(-1) ?? 0 })
  let [low, high] = [0, ladder.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ladder[middle] ?? 0) < point) low = middle + 1
    else high = middle
  }
  return low
}

function inventPerson(random: SeededRandom, number: number, company: SampleCompany, at: number): Fields {
  const country = getCountry(company.country)
  const names = random.namesIn(country.language)
  const [first, last] = [names.person.firstName(), names.person.lastName()]
  const { title, french, function: role, seniority } = random.pick(words.positions)
  const held = country.language === 'fr' && random.chance(0.5) ? french : title
  const slug = `${foldText(`${first} ${last}`).replaceAll(' ', '-')}-${number.toString(36).padStart(4, '0')}`
  const since = random.integer(20, 3_000)
  return {
    id: random.faker.string.uuid(),
    first_name: first,
    last_name: last,
    full_name: `${first} ${last}`,
    title: held,
    headline: `${held} at ${company.name}`,
    summary: random.chance(0.4) ? `${held}. ${random.faker.company.catchPhrase()}.` : undefined,
    seniority,
    function: role,
    location: `${company.city}, ${country.name}`,
    city: company.city,
    country: company.country,
    connections_count: random.integer(12, 500),
    current_positions_count: 1,
    is_premium_network: random.chance(0.2),
    is_open_profile_network: random.chance(0.1),
    is_open_to_work_network: random.chance(0.08),
    started_at: random.daysAgo(since),
    years_of_experience: Math.floor(since / 365) + random.integer(0, 20),
    network_id: `ACoAA${random.faker.string.alphanumeric(24)}`,
    network_profile_url: `https://www.network.example/in/${slug}`,
    company_domain: company.domain,
    ...inventEmails(random, first, last, company.domain, at),
    ...inventPhones(random, country),
  }
}

/** Patterns of email addresses; each company uses one. */
const emailPatterns: readonly ((first: string, last: string) => string)[] = [
  (first, last) => `${first}.${last}`,
  (first, last) => `${first.slice(0, 1)}${last}`,
  (first, last) => `${first}${last.slice(0, 1)}`,
  (first, last) => `${last}.${first}`,
  (first) => first,
]

function inventEmails(random: SeededRandom, first: string, last: string, domain: string, at: number): Fields {
  const [given, family] = [foldText(first).replaceAll(' ', '-'), foldText(last).replaceAll(' ', '')]
  const local = emailPatterns[at % emailPatterns.length]?.(given, family) ?? given
  const known = random.chance(0.75) ? { email: `${local}@${domain}`, email_status: pickStatus(random) } : {}
  if (!random.chance(0.3)) return known
  const personal_email = `${given}.${family}${random.integer(1, 99)}@mailbox.example`
  return { ...known, personal_email, personal_email_status: pickStatus(random) }
}

const pickStatus = (random: SeededRandom): string =>
  random.chance(0.8) ? 'valid' : random.chance(0.75) ? 'risky' : 'invalid'

function inventPhones(random: SeededRandom, country: SampleCountry): Fields {
  const number = random.chance(0.45) ? inventPhone(random, country) : undefined
  if (number === undefined) return {}
  return { phones: [number], ...(random.chance(0.3) ? { messenger: random.chance(0.7) } : {}) }
}

const { industries, nameBeginnings, nameEndings, technologies } = words

/** Companies with a headcount history by department; the others have one for the whole company only. */
const detailed = 1_000

/** Yields the hand-written companies, then invented ones until there are `wanted`; adds each to `made`. */
export function* sampleCompanies(random: SeededRandom, wanted: number, made: SampleCompany[]) {
  const taken = new Set<string>()
  for (const company of fixedCompanies.map(toFixedRecord))
    yield rememberCompany(addHistory(random, company, true), made, taken)
  while (made.length < wanted) {
    const company = inventCompany(random, made.length, taken)
    yield rememberCompany(addHistory(random, company, made.length < detailed), made, taken)
  }
}

/** Returns one of the companies that every sample begins with, regardless of its size and seed. */
function toFixedRecord({ founded, ...company }: (typeof fixedCompanies)[number], at: number): Fields {
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

function rememberCompany(company: Fields, made: SampleCompany[], taken: Set<string>): Fields {
  const { name, domain, country, city, headcount } = company as Fields & SampleCompany
  taken.add(domain)
  made.push({ name, domain, country, city, headcount })
  return company
}

function inventCompany(random: SeededRandom, number: number, taken: ReadonlySet<string>): Fields {
  const country = random.pick(countries)
  const core = `${random.pick(nameBeginnings)} ${random.pick(nameEndings)}`
  const form = random.chance(0.8) ? random.pick(country.forms) : ''
  const name = `${core}${form.startsWith(',') ? '' : ' '}${form}`.trim()
  const wanted = foldText(core).replaceAll(' ', '-')
  const slug = taken.has(`${wanted}.example`) ? `${wanted}-${number}` : wanted
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

/** Returns a number from a range that a country reserves for fiction; `undefined` when it has none. */
function inventPhone(random: SeededRandom, country: SampleCountry): string | undefined {
  if (country.phones.length === 0) return undefined
  return random.pick(country.phones).replace(/x/g, () => String(random.integer(0, 9)))
}

/** Adds details of the company's technologies, and its headcount history. */
function addHistory(random: SeededRandom, company: Fields, withDepartments: boolean): Fields {
  const slugs = company.technologies as readonly string[]
  return {
    ...company,
    technology_details: slugs.map((slug) => inventTechnologyUse(random, slug)),
    headcount_history: inventHistory(random, company.headcount as number, withDepartments),
  }
}

function inventTechnologyUse(random: SeededRandom, slug: string): Fields {
  const known = technologies.find((technology) => technology.slug === slug)
  return { slug, ...known, confidence: random.integer(2, 10) / 10, job_mentions: random.integer(0, 40) }
}

const departments = { Engineering: 0.35, Sales: 0.2, Marketing: 0.1, Operations: 0.15 } as const

function inventHistory(random: SeededRandom, headcount: number, withDepartments: boolean): Fields[] {
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

/** Numbers are reserved for fiction, in E.164 with `x` for a digit; none where a country reserves none. */
type SampleCountry = (typeof list)[number]

/** Countries of the invented companies, with their legal forms and phone numbers. */
export const countries: readonly SampleCountry[] = list

const otherNames = new Intl.DisplayNames('en', { type: 'region' })

/** Returns a country by its code. One outside the list has no phone numbers and English names. */
const getCountry = (code: string): SampleCountry =>
  countries.find((one) => one.code === code) ?? {
    code,
    name: otherNames.of(code) ?? code,
    language: 'en',
    currency: 'EUR',
    cities: [],
    forms: [],
    phones: [],
  }

/** What people, jobs and posts of the sample need of a company. */
interface SampleCompany {
  readonly name: string
  readonly domain: string
  readonly country: string
  readonly city: string
  readonly headcount: number
}

type SeededRandom = Awaited<ReturnType<typeof createSeededRandom>>

/** Creates random choices from a seed; days count back from `now`. */
async function createSeededRandom(seed: number, now: number) {
  const { Faker, base, de, en, es, fr, nl, sv } = await import('@faker-js/faker')
  const faker = new Faker({ locale: [en, base], seed })
  const others = new Map(
    Object.entries({ de, es, fr, nl, sv }).map(([language, locale], at) => [
      language,
      new Faker({ locale: [locale, en, base], seed: seed + at + 1 }),
    ]),
  )
  return {
    faker,
    /** Returns the generator of names in a language; of English ones when it is unknown. */
    namesIn: (language: string) => others.get(language) ?? faker,
    pick: <T>(items: readonly T[]): T => faker.helpers.arrayElement(items),
    /** Returns a whole number from `min` to `max`, inclusive. */
    integer: (min: number, max: number) => faker.number.int({ min, max }),
    chance: (probability: number) => faker.number.float() < probability,
    /** Returns the day that is `days` before the sample's own, as `YYYY-MM-DD`. */
    daysAgo: (days: number) => new Date(now - days * 86_400_000).toISOString().slice(0, 10),
  }
}
