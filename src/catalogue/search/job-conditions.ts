import type { HiringFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'
import { type Condition, ifAny, not, some } from '../full-text/sql-conditions.js'
import { allOf, anyOf, beginning, negate, phrase, within } from '../full-text/text-query.js'
import { postedSince } from '../lookup/jobs.js'
import { inIndustries, ofSizes } from './company-conditions.js'
import { inPlaces } from './place-condition.js'

const days: Readonly<Record<NonNullable<HiringFilters['published_date']>, number>> = {
  last_24_hours: 1,
  last_7_days: 7,
  last_15_days: 15,
  last_30_days: 30,
  last_90_days: 90,
  last_180_days: 180,
  last_360_days: 360,
}

/** Returns the conditions of a hiring search on jobs. Days count back from `now`. */
export function jobConditions(connection: Connection, filters: HiringFilters, now: number): Condition[] {
  const { published_date, exclude_internships, included_locations, excluded_locations } = filters
  const holds = (column: 'title' | 'description') => (phrases: readonly string[]) =>
    dialectOf(connection).texts.matchTexts('jobs', within([column], anyOf(phrases.map(phrase))), 'many')
  const [title, description] = [holds('title'), holds('description')]
  return [
    ...(published_date === undefined ? [] : [postedSince(now, days[published_date])]),
    ...ifAny(filters.selected_titles, title),
    ...ifAny(filters.excluded_titles, (phrases) => not(title(phrases))),
    ...ifAny(filters.selected_keywords, description),
    ...ifAny(filters.excluded_keywords, (phrases) => not(description(phrases))),
    ...(exclude_internships ? [not(isInternship(connection))] : []),
    ...ifAny(included_locations, (ids) => jobIn(inPlaces('included_locations', ids))),
    ...ifAny(excluded_locations, (ids) => not(jobIn(inPlaces('excluded_locations', ids)))),
  ]
}

/** Returns its conditions on companies. */
export const hiringCompanyConditions = (connection: Connection, filters: HiringFilters): Condition[] => [
  ...ifAny(filters.company_size, ofSizes),
  ...ifAny(filters.included_industries, inIndustries),
  ...(filters.exclude_consulting_recruiting ? [not(isConsulting(connection))] : []),
]

/** A job without a country is where its company is. */
const jobIn = ([place, ...values]: Condition): Condition => [
  `CASE WHEN country IS NULL
    THEN EXISTS (SELECT 1 FROM companies WHERE companies.key = company AND (${place})) ELSE ${place} END`,
  ...values,
  ...values,
]

const isConsulting = (connection: Connection): Condition =>
  some([
    inIndustries(consultingIndustries),
    dialectOf(connection).texts.matchTexts(
      'companies',
      within(['name'], anyOf(consultingNames.map(phrase))),
      'many',
    ),
  ])

const isInternship = (connection: Connection): Condition =>
  some([
    dialectOf(connection).texts.matchTexts(
      'jobs',
      within(
        ['title'],
        anyOf([
          ...internshipWords.map(phrase),
          allOf([beginning(stageTitles.begin), negate(anyOf(stageTitles.not.map(phrase)))]),
        ]),
      ),
      'many',
    ),
    ...internshipStatuses.map((status): Condition => ['instr(statuses, ?) > 0', `|${status}|`]),
  ])

// Keywords that classify companies and jobs, compared without case, accents and punctuation.

/** Industries of firms that hire for others or advise them. */
export const consultingIndustries: readonly string[] = [
  '11',
  '104',
  'Business Consulting and Services',
  'Consulting',
  'Executive Search Services',
  'Human Resources Services',
  'IT Services and IT Consulting',
  'Management Consulting',
  'Operations Consulting',
  'Outsourcing and Offshoring Consulting',
  'Outsourcing/Offshoring',
  'Recruiting',
  'Staffing and Recruiting',
  'Strategic Management Services',
  'Temporary Help Services',
]

/** Words in the names of such firms. */
export const consultingNames: readonly string[] = [
  'conseil',
  'conseils',
  'consultancy',
  'consultants',
  'consulting',
  'consultores',
  'executive search',
  'headhunter',
  'headhunters',
  'headhunting',
  'interim',
  'personalberatung',
  'personaldienstleistungen',
  'portage salarial',
  'recruiters',
  'recruiting',
  'recruitment',
  'recrutement',
  'staffing',
  'talent acquisition',
  'travail temporaire',
  'uitzendbureau',
  'unternehmensberatung',
  'zeitarbeit',
]

/** Kinds of employment that are internships or apprenticeships. */
export const internshipStatuses: readonly string[] = [
  'alternance',
  'apprenticeship',
  'apprentissage',
  'ausbildung',
  'intern',
  'internship',
  'praktikum',
  'stage',
  'werkstudent',
  'working student',
]

/** Words in the titles of such jobs. */
export const internshipWords: readonly string[] = [
  'alternance',
  'alternant',
  'alternante',
  'apprenti',
  'apprentice',
  'apprentices',
  'apprenticeship',
  'apprentie',
  'apprentissage',
  'ausbildung',
  'auszubildende',
  'auszubildender',
  'azubi',
  'becaria',
  'becario',
  'contrat pro',
  'contrat de professionnalisation',
  'de stage',
  'en stage',
  'estagiaria',
  'estagiario',
  'intern',
  'interns',
  'internship',
  'internships',
  'pfe',
  'praktika',
  'praktikant',
  'praktikantin',
  'praktikum',
  'praktikumsplatz',
  'practicas',
  'pflichtpraktikum',
  'stage de',
  'stage en',
  'stage pfe',
  'stage pre embauche',
  'stagiair',
  'stagiaire',
  'stagiaires',
  'stagista',
  'tirocinante',
  'tirocinio',
  'werkstudent',
  'werkstudentin',
  'working student',
]

/** A title that begins so is an internship in French, Italian and Dutch; these English titles are not. */
export const stageTitles = {
  begin: 'stage',
  not: [
    'stage builder',
    'stage carpenter',
    'stage crew',
    'stage designer',
    'stage director',
    'stage engineer',
    'stage hand',
    'stage manager',
    'stage technician',
  ],
} as const
