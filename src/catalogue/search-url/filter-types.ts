import type { CompanyFilters, DecodedSearch } from '../../api/ports/ports.js'
import type { FilterValueKind } from './grammar.js'

type PeopleFilter = keyof Extract<DecodedSearch, { kind: 'people' }>['filters']
type FilterTarget<Name extends string = string> = readonly [included: Name, excluded?: Name]

/** A filter type in the urls of the premium search tool, and our filters for it. */
export interface FilterType {
  readonly type: string
  readonly value: FilterValueKind
  readonly people?: FilterTarget<PeopleFilter>
  readonly companies?: FilterTarget<keyof CompanyFilters>
}

const locations = ['included_locations', 'excluded_locations'] as const
const industries = ['included_industries', 'excluded_industries'] as const

/** The known filter types, with their sub-filter after a colon. When several have the same target, the first is written. */
// biome-ignore format: one type, one line
export const filterTypes: readonly FilterType[] = [
  { type: 'CURRENT_TITLE', value: 'title', people: ['job_titles', 'excluded_job_titles'] },
  { type: 'TITLE:CURRENT', value: 'title', people: ['job_titles', 'excluded_job_titles'] },
  { type: 'PAST_TITLE', value: 'title', people: ['past_titles', 'excluded_past_titles'] },
  { type: 'TITLE:PAST', value: 'title', people: ['past_titles', 'excluded_past_titles'] },
  { type: 'FUNCTION', value: 'function', people: ['functions'] },
  { type: 'SENIORITY_LEVEL', value: 'seniority', people: ['seniority_levels'] },
  { type: 'REGION', value: 'place', people: locations, companies: locations },
  { type: 'GEOGRAPHY', value: 'place', people: locations, companies: locations },
  { type: 'COMPANY_HEADQUARTERS', value: 'place', people: ['company_headquarters'], companies: locations },
  { type: 'INDUSTRY', value: 'industry', people: industries, companies: industries },
  { type: 'CURRENT_COMPANY', value: 'company', people: ['included_companies', 'excluded_companies'] },
  { type: 'PAST_COMPANY', value: 'company', people: ['past_companies'] },
  { type: 'COMPANY_HEADCOUNT', value: 'size', people: ['company_size'], companies: ['company_size'] },
  { type: 'COMPANY_TYPE', value: 'type', people: ['company_type'] },
  { type: 'YEARS_OF_EXPERIENCE', value: 'years', people: ['years_of_experience'] },
  { type: 'YEARS_AT_CURRENT_COMPANY', value: 'years', people: ['years_at_current_company'] },
  { type: 'YEARS_IN_CURRENT_POSITION', value: 'years', people: ['years_in_current_position'] },
  { type: 'FIRST_NAME', value: 'name', people: ['first_name'] },
  { type: 'LAST_NAME', value: 'name', people: ['last_name'] },
  { type: 'ACCOUNT_LIST', value: 'list', people: ['included_account_lists', 'excluded_account_lists'] },
]

/** The filter type of a revenue range, for companies only: `min_revenue`, `max_revenue` and `revenue_currency`. */
export const revenueType = 'ANNUAL_REVENUE'
/** The upper end that the network writes for a range without one, in millions. */
export const endlessRevenue = 1_001

/** A parameter of a plain search url: its filter type, and whether its value is one text or a list of ids. */
export interface PlainParameter {
  readonly type: string
  readonly holds: 'text' | 'ids'
}

/** The parameters of plain search urls that are filters, besides `keywords`. */
export const plainParameters: Readonly<
  Record<'people' | 'companies', Readonly<Record<string, PlainParameter>>>
> = {
  people: {
    firstName: { type: 'FIRST_NAME', holds: 'text' },
    lastName: { type: 'LAST_NAME', holds: 'text' },
    title: { type: 'CURRENT_TITLE', holds: 'text' },
    titleFreeText: { type: 'CURRENT_TITLE', holds: 'text' },
    company: { type: 'CURRENT_COMPANY', holds: 'text' },
    geoUrn: { type: 'REGION', holds: 'ids' },
    industry: { type: 'INDUSTRY', holds: 'ids' },
    currentCompany: { type: 'CURRENT_COMPANY', holds: 'ids' },
    pastCompany: { type: 'PAST_COMPANY', holds: 'ids' },
  },
  companies: {
    industryCompanyVertical: { type: 'INDUSTRY', holds: 'ids' },
    companySize: { type: 'COMPANY_HEADCOUNT', holds: 'ids' },
    companyHqGeo: { type: 'REGION', holds: 'ids' },
  },
}

/** Parameters of plain search urls that do not change the results. */
export const ignoredParameters: ReadonlySet<string> = new Set(
  `origin sid page start count spellCorrectionEnabled searchId sessionId position heroEntityKey prioritizeMessage
  viewAllFilters trk trackingId refId lipi licu lici locale resultType`.split(/\s+/),
)

/** Parameters and keys of (mostly old) premium search urls that narrow a search and are not supported. */
export const narrowing = /(?:In|Ex)cluded$|^excludedKeywords$|^pivotParam$/
