import type { HiringFilters } from '../engine/ports.js'
import { industryIs, sizeIs } from './company-filters.js'
import { postedSince } from './hiring.js'
import { locatedIn } from './located.js'
import { type Condition, listed, not, some } from './phrases.js'
import {
  consultingIndustries,
  consultingNames,
  internshipStatuses,
  internshipWords,
  stageTitles,
} from './telling-words.js'
import { anyOf, inTexts, phrase, within } from './text-query.js'

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
export function jobsSought(filters: HiringFilters, now: number): Condition[] {
  const { published_date, exclude_internships, included_locations, excluded_locations } = filters
  const holds = (column: 'title' | 'description') => (phrases: readonly string[]) =>
    inTexts('jobs', within([column], anyOf(phrases.map(phrase))), 'many')
  const [title, description] = [holds('title'), holds('description')]
  return [
    ...(published_date === undefined ? [] : [postedSince(now, days[published_date])]),
    ...listed(filters.selected_titles, title),
    ...listed(filters.excluded_titles, (phrases) => not(title(phrases))),
    ...listed(filters.selected_keywords, description),
    ...listed(filters.excluded_keywords, (phrases) => not(description(phrases))),
    ...(exclude_internships ? [not(isInternship())] : []),
    ...listed(included_locations, (ids) => heldIn(locatedIn('included_locations', ids))),
    ...listed(excluded_locations, (ids) => not(heldIn(locatedIn('excluded_locations', ids)))),
  ]
}

/** What they ask of the companies. */
export const companiesHiring = (filters: HiringFilters): Condition[] => [
  ...listed(filters.company_size, sizeIs),
  ...listed(filters.included_industries, industryIs),
  ...(filters.exclude_consulting_recruiting ? [not(isConsulting())] : []),
]

/** A job is where it says; where it does not say in which country it is, it is where its company is. */
const heldIn = ([place, ...values]: Condition): Condition => [
  `CASE WHEN country IS NULL
    THEN EXISTS (SELECT 1 FROM companies WHERE companies.key = company AND (${place})) ELSE ${place} END`,
  ...values,
  ...values,
]

const anyPhrase = (phrases: readonly string[]): string => phrases.map((phrase) => `"${phrase}"`).join(' OR ')

const isConsulting = (): Condition =>
  some([
    industryIs(consultingIndustries),
    [
      'key IN (SELECT rowid FROM companies_text WHERE companies_text MATCH ?)',
      `name : (${anyPhrase(consultingNames)})`,
    ],
  ])

const isInternship = (): Condition =>
  some([
    [
      'key IN (SELECT rowid FROM jobs_text WHERE jobs_text MATCH ?)',
      `title : (${anyPhrase(internshipWords)} OR (^ "${stageTitles.begin}" NOT (${anyPhrase(stageTitles.not)})))`,
    ],
    ...internshipStatuses.map((status): Condition => ['instr(statuses, ?) > 0', `|${status}|`]),
  ])
