import type { RawRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { inventPhone } from './companies.js'
import { getCountry, type SampleCountry } from './countries.js'
import type { SampleCompany, SeededRandom } from './random.js'
import words from './words.json' with { type: 'json' }

/** Yields people at the given companies, more of them at larger ones; adds their urls to `profiles`. */
export function* samplePeople(
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
