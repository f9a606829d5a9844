import type { RawRecord } from '../kinds/kind.js'
import { getCountry } from './countries.js'
import type { SampleCompany, SeededRandom } from './random.js'
import words from './words.json' with { type: 'json' }

/** Yields open jobs of the given companies: none at every third, a few at the others. */
export function* sampleJobs(random: SeededRandom, companies: readonly SampleCompany[]): Generator<RawRecord> {
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
export function* samplePosts(random: SeededRandom, profiles: readonly string[]): Generator<RawRecord> {
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
