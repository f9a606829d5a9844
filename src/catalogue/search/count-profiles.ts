import type { ProfileFilters } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { estimateSelectivity } from '../full-text/sql-conditions.js'
import type { Candidate } from '../records/match-company.js'
import { countPeople } from './people.js'
import { peopleQuery } from './people-query.js'

/** How many people of a company match, exactly; titles and locations mean what they mean in a search of people. */
export async function countProfiles(
  connection: Connection,
  { key }: Candidate,
  { title_to_include, title_to_exclude, included_locations, excluded_locations }: ProfileFilters,
): Promise<number> {
  const filters = {
    job_titles: title_to_include,
    excluded_job_titles: title_to_exclude,
    included_locations,
    excluded_locations,
  }
  const query = await peopleQuery(connection, filters, noTime)
  const staff = await estimateSelectivity(connection, 'people', ['company = ?', key])
  return await countPeople(connection, { ...query, staff })
}

/** None of these filters counts days. */
const noTime = 0
