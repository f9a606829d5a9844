import type { HiringFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import { type Condition, ifAny, not, some } from '../full-text/sql-conditions.js'
import { allOf, anyOf, beginning, negate, phrase, within } from '../full-text/text-query.js'
import { phraseConditions, postedSince } from '../lookup/jobs.js'
import keywords from './classification-keywords.json' with { type: 'json' }
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
  return [
    ...(published_date === undefined ? [] : [postedSince(now, days[published_date])]),
    ...phraseConditions(connection, 'many', {
      title: [filters.selected_titles, filters.excluded_titles],
      description: [filters.selected_keywords, filters.excluded_keywords],
    }),
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

/** Companies that hire for others or advise them, by industry or by a word of their name. */
const isConsulting = (connection: Connection): Condition =>
  some([
    inIndustries(keywords.consultingIndustries),
    dialectOf(connection).texts.matchTexts(
      'companies',
      within(['name'], anyOf(keywords.consultingNames.map(phrase))),
      'many',
    ),
  ])

/**
 * Internships and apprenticeships, by their status or by a word of the title. A title that begins with `stage` is one in
 * French, Italian and Dutch; some English titles that begin so are not.
 */
const isInternship = (connection: Connection): Condition =>
  some([
    dialectOf(connection).texts.matchTexts(
      'jobs',
      within(
        ['title'],
        anyOf([
          ...keywords.internshipWords.map(phrase),
          allOf([beginning(keywords.stageTitles.begin), negate(anyOf(keywords.stageTitles.not.map(phrase)))]),
        ]),
      ),
      'many',
    ),
    ...keywords.internshipStatuses.map((status): Condition => ['instr(statuses, ?) > 0', `|${status}|`]),
  ])
