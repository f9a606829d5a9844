/** An invented population for searches: the same number always gives the same company or person, and nobody is real. */
import { dice, pick } from './dice.js'

const places = [
  ['FR', ['Paris', 'Lyon', 'Marseille', 'Toulouse', 'Nantes', 'Lille']],
  ['US', ['Austin', 'Boston', 'Chicago', 'Denver', 'Seattle', 'Atlanta']],
  ['GB', ['London', 'Leeds', 'Bristol', 'Manchester']],
  ['DE', ['Berlin', 'Hamburg', 'Bremen', 'Leipzig']],
  ['JP', ['Tokyo', 'Osaka', 'Nagoya']],
  ['BR', ['Recife', 'Curitiba', 'Salvador']],
  ['ES', ['Madrid', 'Valencia']],
  ['CA', ['Toronto', 'Montreal']],
]
const industries = [
  ['96', 'Software Development'],
  ['43', 'Financial Services'],
  ['12', 'Education'],
  ['4', 'Automotive'],
  ['6', 'Technology, Information and Internet'],
  ['900', 'Hospitals'],
  ['901', 'Retail'],
  ['902', 'Construction'],
  ['903', 'Logistics'],
  ['904', 'Robotics'],
]
const types = [
  'Private',
  'Private',
  'Private',
  'Public',
  'Non-profit',
  'Partnership',
  'Self-owned',
  'Government',
]
const levels = [
  ['Junior', 'Entry Level'],
  ['', 'Senior'],
  ['Senior', 'Senior'],
  ['Lead', 'Entry Level Manager'],
  ['Head of', 'Director'],
  ['Director of', 'Director'],
  ['VP', 'Vice President'],
  ['Chief', 'CXO'],
]
const roles = [
  ['Sales', 'Sales'],
  ['Marketing', 'Marketing'],
  ['Software Engineering', 'Engineering'],
  ['Data Science', 'Research'],
  ['Finance', 'Finance'],
  ['People Operations', 'Human Resources'],
  ['Customer Success', 'Customer Success and Support'],
  ['Product Management', 'Product Management'],
  ['Purchasing', 'Purchasing'],
  ['Legal Affairs', 'Legal'],
]
/** Words of summaries, each with how many of a million people have it. */
const topics = Object.entries({
  kubernetes: 50_000,
  forecasting: 30_000,
  onboarding: 20_000,
  robotics: 10_000,
  payroll: 5_000,
  compliance: 2_000,
  genomics: 1_000,
  cryogenics: 500,
  hydroponics: 200,
  falconry: 100,
})
const syllables = ['ba', 'den', 'kor', 'li', 'mar', 'no', 'pel', 'ri', 'sa', 'tu', 'vel', 'zo']

const word = (throwDice, length) => Array.from({ length }, () => pick(syllables, throwDice)).join('')
const capital = (text) => text[0].toUpperCase() + text.slice(1)

/** Companies, a few of them large. */
export function* companies(count) {
  for (let number = 0; number < count; number++) {
    const throwDice = dice(number)
    const [country, cities] = pick(places, throwDice)
    const [industry_id, industry] = pick(industries, throwDice)
    const name = `${capital(word(throwDice, 3))} ${capital(word(throwDice, 2))} ${number}`
    yield {
      domain: `company-${number}.example`,
      name,
      description: `${name} makes ${word(throwDice, 2)} and ${word(throwDice, 2)} for ${industry.toLowerCase()}`,
      industry,
      industry_id,
      company_type: pick(types, throwDice),
      headcount: Math.floor(2 / (throwDice() ** 1.4 + 0.0001)),
      city: pick(cities, throwDice),
      country,
      revenue: Math.floor(throwDice() * 500) * 1_000_000,
      revenue_currency: 'EUR',
      network_id: String(1_000_000 + number),
    }
  }
}

/** People, at so many companies. */
export function* people(count, employers) {
  for (let number = 0; number < count; number++) {
    const throwDice = dice(10_000_000 + number)
    const [country, cities] = pick(places, throwDice)
    const [level, seniority] = pick(levels, throwDice)
    const [role, department] = pick(roles, throwDice)
    const title = `${level} ${role}`.trim()
    const company = Math.floor(throwDice() ** 2 * employers)
    const known = topics.filter(([, share]) => throwDice() * 1_000_000 < share).map(([topic]) => topic)
    const filler = Array.from({ length: 12 }, () => word(throwDice, 2)).join(' ')
    const city = pick(cities, throwDice)
    yield {
      first_name: capital(word(throwDice, 2)),
      last_name: capital(word(throwDice, 3)),
      title,
      headline: `${title} at company ${company}`,
      summary: `${known.join(' ')} ${filler}`.trim(),
      seniority,
      function: department,
      location: `${city}, ${country}`,
      city,
      country,
      connections_count: Math.floor(throwDice() * 500),
      started_at: `20${10 + Math.floor(throwDice() * 15)}-0${1 + Math.floor(throwDice() * 9)}-15`,
      years_of_experience: Math.floor(throwDice() * 30),
      past_positions: [{ title: pick(roles, throwDice)[0], company_name: `Former ${word(throwDice, 2)}` }],
      network_id: `ACoAA${String(number).padStart(30, 'x')}`,
      network_profile_url: `https://www.network.example/in/person-${number}`,
      email: `person-${number}@company-${company}.example`,
      company_domain: `company-${company}.example`,
    }
  }
}
