import type { HiringFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'
import { type Condition, listed, not, some } from '../full-text/sql-conditions.js'
import { allOf, anyOf, beginning, inverse, phrase, within } from '../full-text/text-query.js'
import { postedSince } from '../lookup/jobs.js'
import {
  consultingIndustries,
  consultingNames,
  internshipStatuses,
  internshipWords,
  stageTitles,
} from './classification-keywords.js'
import { industryIs, sizeIs } from './company-filters.js'
import { locatedIn } from './place-condition.js'

const days: Readonly<Record<NonNullable<HiringFilters['published_date']>, number>> = {
  last_24_hours: 1,
  last_7_days: 7,
  last_15_days: 15,
  last_30_days: 30,
  last_90_days: 90,
  last_180_days: 180,
  last_360_days: 360,
}

/** What the filters of a hiring search ask of jobs. Days count back from `now`. */
export function jobsSought(connection: Connection, filters: HiringFilters, now: number): Condition[] {
  const { published_date, exclude_internships, included_locations, excluded_locations } = filters
  const holds = (column: 'title' | 'description') => (phrases: readonly string[]) =>
    dialectOf(connection).texts.matchTexts('jobs', within([column], anyOf(phrases.map(phrase))), 'many')
  const [title, description] = [holds('title'), holds('description')]
  return [
    ...(published_date === undefined ? [] : [postedSince(now, days[published_date])]),
    ...listed(filters.selected_titles, title),
    ...listed(filters.excluded_titles, (phrases) => not(title(phrases))),
    ...listed(filters.selected_keywords, description),
    ...listed(filters.excluded_keywords, (phrases) => not(description(phrases))),
    ...(exclude_internships ? [not(isInternship(connection))] : []),
    ...listed(included_locations, (ids) => heldIn(locatedIn('included_locations', ids))),
    ...listed(excluded_locations, (ids) => not(heldIn(locatedIn('excluded_locations', ids)))),
  ]
}

/** What they ask of the companies. */
export const companiesHiring = (connection: Connection, filters: HiringFilters): Condition[] => [
  ...listed(filters.company_size, sizeIs),
  ...listed(filters.included_industries, industryIs),
  ...(filters.exclude_consulting_recruiting ? [not(isConsulting(connection))] : []),
]

/** A job is where it says; where it does not say in which country it is, it is where its company is. */
const heldIn = ([place, ...values]: Condition): Condition => [
  `CASE WHEN country IS NULL
    THEN EXISTS (SELECT 1 FROM companies WHERE companies.key = company AND (${place})) ELSE ${place} END`,
  ...values,
  ...values,
]

const isConsulting = (connection: Connection): Condition =>
  some([
    industryIs(consultingIndustries),
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
          allOf([beginning(stageTitles.begin), inverse(anyOf(stageTitles.not.map(phrase)))]),
        ]),
      ),
      'many',
    ),
    ...internshipStatuses.map((status): Condition => ['instr(statuses, ?) > 0', `|${status}|`]),
  ])
