import type { Given } from '../kinds/kind.js'
import { placeOf } from './places.js'
import type { SampleCompany, SeededRandom } from './random.js'
import { positions, technologies } from './words.js'

/** Open jobs of the companies made before: none at every third, a few at the others. */
export function* sampleJobs(dice: SeededRandom, companies: readonly SampleCompany[]): Generator<Given> {
  for (const [at, company] of companies.entries()) {
    if (at % 3 === 2) continue
    const count = dice.whole(1, company.headcount > 1_000 ? 8 : 3)
    for (let number = 1; number <= count; number++) yield job(dice, company, number)
  }
}

function job(dice: SeededRandom, company: SampleCompany, number: number): Given {
  const [title, french] = dice.pick(positions)
  const inFrench = company.country === 'FR' && dice.chance(0.5)
  const [, technology] = dice.pick(technologies)
  return {
    job_title: inFrench ? french : title,
    job_url: `https://jobs.${company.domain}/openings/${number}`,
    job_location: `${company.city}, ${placeOf(company.country).name}`,
    country_code: company.country,
    employment_statuses: [dice.pick(['Full-time', 'Full-time', 'Part-time', 'Contract', 'Internship'])],
    date_posted: dice.daysAgo(dice.whole(0, 120)),
    description: inFrench
      ? frenchText(dice, company, french, technology)
      : englishText(dice, company, title, technology),
    hiring_team: [],
    company_domain: company.domain,
  }
}

const englishText = (dice: SeededRandom, company: SampleCompany, title: string, technology: string): string =>
  `${company.name} is hiring in ${company.city}: ${title}. You will work with ${technology} in a team of ` +
  `${dice.whole(3, 14)} people and report to the head of the department. We offer ${dice.whole(25, 32)} days of ` +
  `leave, a training budget and ${dice.whole(2, 4)} days at home each week. You bring ${dice.whole(2, 8)} years of ` +
  'experience, write clearly and like to finish what you start. We read every application ourselves and answer ' +
  'within two weeks.'

const frenchText = (dice: SeededRandom, company: SampleCompany, title: string, technology: string): string =>
  `${company.name} recherche : ${title}, à ${company.city}. Vous travaillerez avec ${technology} dans une équipe de ` +
  `${dice.whole(3, 14)} personnes, rattachée à la direction. Nous offrons ${dice.whole(25, 32)} jours de congés, un ` +
  `budget de formation et ${dice.whole(2, 4)} jours de télétravail par semaine. Vous avez ${dice.whole(2, 8)} ans ` +
  "d'expérience, vous écrivez avec soin et vous aimez mener un projet à son terme. Nous lisons chaque candidature " +
  'et répondons sous deux semaines.'

const openings = [
  'What we learnt from our first year of',
  'Three mistakes we made with',
  'Why we moved to',
  'An honest look at',
  'Hiring for',
]

/** Posts of some of the people made before, with others who reacted to them. */
export function* samplePosts(dice: SeededRandom, profiles: readonly string[]): Generator<Given> {
  const posts = Math.min(40, profiles.length)
  for (let number = 1; number <= posts; number++) {
    const [, technology] = dice.pick(technologies)
    yield {
      post_url: `https://www.network.example/posts/${7_000_000 + number}`,
      author_profile_url: dice.pick(profiles),
      text: `${dice.pick(openings)} ${technology}: ${dice.faker.company.catchPhrase().toLowerCase()}.`,
      published_at: `${dice.daysAgo(dice.whole(0, 90))}T09:00:00Z`,
      engagers: Array.from({ length: dice.whole(3, 30) }, () => ({
        network_profile_url: dice.pick(profiles),
        engagement: dice.chance(0.7) ? 'reaction' : 'comment',
      })),
    }
  }
}
