import type { Catalogue } from '../catalogue.js'
import type { ImportReport } from '../import/report.js'
import type { RawRecord, RecordKind } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { inventPhone, sampleCompanies } from './companies.js'
import { getCountry, type SampleCountry } from './countries.js'
import { createSeededRandom, type SampleCompany, type SeededRandom } from './random.js'
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

/** Records of the sample by kind. Read each once, in this order. */
type Sample = Readonly<Record<RecordKind, Iterable<RawRecord>>>

/**
 * Invents companies, people, jobs and posts. Domains are reserved ones (`.example`), phone numbers come from ranges reserved
 * for fiction, and no person or company is real.
 */
export async function sampleData({
  companies = 500,
  people = 5_000,
  seed = 1,
  now,
}: SampleOptions): Promise<Sample> {
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

/** Imports sample data into a catalogue; records with the same keys are updated. */
export async function loadSample(
  catalogue: Pick<Catalogue, 'importRecords'>,
  options: SampleOptions,
): Promise<Readonly<Record<RecordKind, ImportReport>>> {
  const sample = await sampleData(options)
  return {
    companies: await catalogue.importRecords('companies', sample.companies, 'sample'),
    people: await catalogue.importRecords('people', sample.people, 'sample'),
    jobs: await catalogue.importRecords('jobs', sample.jobs, 'sample'),
    posts: await catalogue.importRecords('posts', sample.posts, 'sample'),
  }
}

/** Yields open jobs of the given companies: none at every third, a few at the others. */
function* sampleJobs(random: SeededRandom, companies: readonly SampleCompany[]): Generator<RawRecord> {
  for (const [at, company] of companies.entries()) {
    if (at % 3 === 2) continue
    const count = random.integer(1, company.headcount > 1_000 ? 8 : 3)
    for (let number = 1; number <= count; number++) yield inventJob(random, company, number)
  }
}

function inventJob(random: SeededRandom, company: SampleCompany, number: number): RawRecord {
  const { title, french } = random.pick(words.positions)
  const inFrench = company.country === 'FR' && random.chance(0.5)
  const { name: technology } = random.pick(words.technologies)
  return {
    job_title: inFrench ? french : title,
    job_url: `https://jobs.${company.domain}/openings/${number}`,
    job_location: `${company.city}, ${getCountry(company.country).name}`,
    country_code: company.country,
    employment_statuses: [random.pick(['Full-time', 'Full-time', 'Part-time', 'Contract', 'Internship'])],
    date_posted: random.daysAgo(random.integer(0, 120)),
    description: inFrench
      ? writeFrenchText(random, company, french, technology)
      : writeEnglishText(random, company, title, technology),
    hiring_team: [],
    company_domain: company.domain,
  }
}

const writeEnglishText = (
  random: SeededRandom,
  company: SampleCompany,
  title: string,
  technology: string,
): string =>
  `${company.name} is hiring in ${company.city}: ${title}. You will work with ${technology} in a team of ` +
  `${random.integer(3, 14)} people and report to the head of the department. We offer ${random.integer(25, 32)} days of ` +
  `leave, a training budget and ${random.integer(2, 4)} days at home each week. You bring ${random.integer(2, 8)} years of ` +
  'experience, write clearly and like to finish what you start. We read every application ourselves and answer ' +
  'within two weeks.'

const writeFrenchText = (
  random: SeededRandom,
  company: SampleCompany,
  title: string,
  technology: string,
): string =>
  `${company.name} recherche : ${title}, à ${company.city}. Vous travaillerez avec ${technology} dans une équipe de ` +
  `${random.integer(3, 14)} personnes, rattachée à la direction. Nous offrons ${random.integer(25, 32)} jours de congés, un ` +
  `budget de formation et ${random.integer(2, 4)} jours de télétravail par semaine. Vous avez ${random.integer(2, 8)} ans ` +
  "d'expérience, vous écrivez avec soin et vous aimez mener un projet à son terme. Nous lisons chaque candidature " +
  'et répondons sous deux semaines.'

const openings = [
  'What we learnt from our first year of',
  'Three mistakes we made with',
  'Why we moved to',
  'An honest look at',
  'Hiring for',
]

/** Yields posts of some of the given people, with the people who reacted to them. */
function* samplePosts(random: SeededRandom, profiles: readonly string[]): Generator<RawRecord> {
  const posts = Math.min(40, profiles.length)
  for (let number = 1; number <= posts; number++) {
    const { name: technology } = random.pick(words.technologies)
    yield {
      post_url: `https://www.network.example/posts/${7_000_000 + number}`,
      author_profile_url: random.pick(profiles),
      text: `${random.pick(openings)} ${technology}: ${random.faker.company.catchPhrase().toLowerCase()}.`,
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
): Generator<RawRecord> {
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

function inventPerson(random: SeededRandom, number: number, company: SampleCompany, at: number): RawRecord {
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

function inventEmails(
  random: SeededRandom,
  first: string,
  last: string,
  domain: string,
  at: number,
): RawRecord {
  const [given, family] = [foldText(first).replaceAll(' ', '-'), foldText(last).replaceAll(' ', '')]
  const local = emailPatterns[at % emailPatterns.length]?.(given, family) ?? given
  const known = random.chance(0.75) ? { email: `${local}@${domain}`, email_status: pickStatus(random) } : {}
  const personal = random.chance(0.3)
    ? {
        personal_email: `${given}.${family}${random.integer(1, 99)}@mailbox.example`,
        personal_email_status: pickStatus(random),
      }
    : {}
  return { ...known, ...personal }
}

const pickStatus = (random: SeededRandom): string =>
  random.chance(0.8) ? 'valid' : random.chance(0.75) ? 'risky' : 'invalid'

function inventPhones(random: SeededRandom, country: SampleCountry): RawRecord {
  const number = random.chance(0.45) ? inventPhone(random, country) : undefined
  if (number === undefined) return {}
  return { phones: [number], ...(random.chance(0.3) ? { messenger: random.chance(0.7) } : {}) }
}
