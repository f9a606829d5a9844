import type { Value } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import { regionOf } from '../places/place.js'
import type { Fields } from './fields.js'

/** Columns of jobs that repeat what the record says, to be found and filtered by. */
export const jobColumns = ['posted_at', 'country', 'region', 'city', 'statuses'] as const

/**
 * The values of these columns, in their order. A place is in a country that is given: words alone are too often another
 * place (`Wilmington, DE`, `Atlanta, Georgia`).
 */
export function jobValues({
  date_posted,
  country_code,
  job_location,
  employment_statuses,
}: Fields<'jobs'>): Value[] {
  const [city] = job_location?.split(',', 1) ?? []
  return [
    date_posted === undefined ? null : Date.parse(date_posted),
    country_code ?? null,
    (country_code && regionOf(country_code, city, job_location)) ?? null,
    (country_code && foldText(city ?? '')) || null,
    statusText(employment_statuses ?? []) || null,
  ]
}

/** Kinds of employment folded, each with a bar on both sides: `|full time|internship|`. */
const statusText = (statuses: readonly string[]): string =>
  statuses.length === 0 ? '' : `|${statuses.map(foldText).join('|')}|`
