import type { Connection } from '../../storage/driver/connection.js'

/** Where the values are that searches and lookups choose by. */
const stored = {
  title: `people WHERE record LIKE '%"title":%'`,
  seniority: 'people WHERE seniority IS NOT NULL',
  function: 'people WHERE function IS NOT NULL',
  past_positions: `people WHERE record LIKE '%"past_positions":%'`,
  place: 'people WHERE country IS NOT NULL OR city IS NOT NULL OR region IS NOT NULL',
  first_name: 'people WHERE first_name IS NOT NULL',
  last_name: 'people WHERE last_name IS NOT NULL',
  years_of_experience: 'people WHERE years_of_experience IS NOT NULL',
  years_in_company: 'people WHERE months_in_company IS NOT NULL',
  years_in_position: 'people WHERE position_since IS NOT NULL OR months_in_position IS NOT NULL',
  email: 'people WHERE email IS NOT NULL',
  personal_email: 'people WHERE personal_email IS NOT NULL',
  phone: 'phones',
  company_place: 'companies WHERE country IS NOT NULL OR city IS NOT NULL OR region IS NOT NULL',
  company_size: 'companies WHERE size IS NOT NULL OR headcount IS NOT NULL',
  company_type: 'companies WHERE company_type IS NOT NULL',
  industry: 'companies WHERE industry IS NOT NULL OR industry_name IS NOT NULL',
  revenue: 'companies WHERE revenue IS NOT NULL',
  technologies: 'company_technologies',
  headcount_history: 'headcount_history',
  companies: 'companies',
  people: 'people',
  jobs: 'jobs',
  posts: 'posts',
} as const

export type StoredValue = keyof typeof stored

/** Returns those of some values that no record of the catalogue has. */
export async function findMissing<V extends StoredValue>(
  connection: Connection,
  values: readonly V[],
): Promise<readonly V[]> {
  const missing: V[] = []
  for (const value of values)
    if (!(await connection.get(`SELECT 1 AS one FROM ${stored[value]} LIMIT 1`))) missing.push(value)
  return missing
}
