import type { Given } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { phoneIn } from './companies.js'
import { type Place, placeOf } from './places.js'
import type { SampleCompany, SeededRandom } from './random.js'
import { positions } from './words.js'

/** People at the companies made before, more of them at larger ones; `profiles` remembers their urls. */
export function* samplePeople(
  dice: SeededRandom,
  wanted: number,
  companies: readonly SampleCompany[],
  profiles: string[],
): Generator<Given> {
  const ladder = cumulated(companies)
  for (let number = 0; number < wanted; number++) {
    // Everyone at a hand-written company comes first, three people each.
    const at = number < 75 ? number % 25 : drawn(dice, ladder)
    const company = companies[at]
    if (!company) return
    const person = invented(dice, number, company, at)
    profiles.push(person.network_profile_url as string)
    yield person
  }
}

/** Running totals of the companies' weights; a company of a hundred times the size has ten times the people. */
function cumulated(companies: readonly SampleCompany[]): number[] {
  let total = 0
  return companies.map(({ headcount }) => {
    total += Math.sqrt(headcount)
    return total
  })
}

function drawn(dice: SeededRandom, ladder: readonly number[]): number {
  const point = dice.faker.number.float({ max: ladder.at(-1) ?? 0 })
  let [low, high] = [0, ladder.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ladder[middle] ?? 0) < point) low = middle + 1
    else high = middle
  }
  return low
}

function invented(dice: SeededRandom, number: number, company: SampleCompany, at: number): Given {
  const place = placeOf(company.country)
  const names = dice.of(place.language)
  const [first, last] = [names.person.firstName(), names.person.lastName()]
  const [title, french, role, seniority] = dice.pick(positions)
  const held = place.language === 'fr' && dice.chance(0.5) ? french : title
  const slug = `${foldText(`${first} ${last}`).replaceAll(' ', '-')}-${number.toString(36).padStart(4, '0')}`
  const since = dice.whole(20, 3_000)
  return {
    id: dice.faker.string.uuid(),
    first_name: first,
    last_name: last,
    full_name: `${first} ${last}`,
    title: held,
    headline: `${held} at ${company.name}`,
    summary: dice.chance(0.4) ? `${held}. ${dice.faker.company.catchPhrase()}.` : undefined,
    seniority,
    function: role,
    location: `${company.city}, ${place.name}`,
    city: company.city,
    country: company.country,
    connections_count: dice.whole(12, 500),
    current_positions_count: 1,
    is_premium_network: dice.chance(0.2),
    is_open_profile_network: dice.chance(0.1),
    is_open_to_work_network: dice.chance(0.08),
    started_at: dice.daysAgo(since),
    years_of_experience: Math.floor(since / 365) + dice.whole(0, 20),
    network_id: `ACoAA${dice.faker.string.alphanumeric(24)}`,
    network_profile_url: `https://www.network.example/in/${slug}`,
    company_domain: company.domain,
    ...addresses(dice, first, last, company.domain, at),
    ...numbers(dice, place),
  }
}

/** Each company writes all its addresses in one way. */
const patterns: readonly ((first: string, last: string) => string)[] = [
  (first, last) => `${first}.${last}`,
  (first, last) => `${first.slice(0, 1)}${last}`,
  (first, last) => `${first}${last.slice(0, 1)}`,
  (first, last) => `${last}.${first}`,
  (first) => first,
]

function addresses(dice: SeededRandom, first: string, last: string, domain: string, at: number): Given {
  const [given, family] = [foldText(first).replaceAll(' ', '-'), foldText(last).replaceAll(' ', '')]
  const local = patterns[at % patterns.length]?.(given, family) ?? given
  const known = dice.chance(0.75) ? { email: `${local}@${domain}`, email_status: status(dice) } : {}
  const personal = dice.chance(0.3)
    ? {
        personal_email: `${given}.${family}${dice.whole(1, 99)}@mailbox.example`,
        personal_email_status: status(dice),
      }
    : {}
  return { ...known, ...personal }
}

const status = (dice: SeededRandom): string =>
  dice.chance(0.8) ? 'valid' : dice.chance(0.75) ? 'risky' : 'invalid'

function numbers(dice: SeededRandom, place: Place): Given {
  const number = dice.chance(0.45) ? phoneIn(dice, place) : undefined
  if (number === undefined) return {}
  return { phones: [number], ...(dice.chance(0.3) ? { messenger: dice.chance(0.7) } : {}) }
}
