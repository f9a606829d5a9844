import type { Connection } from '../../storage/driver/connection.js'

/** How many records of each kind the catalogue holds. */
export interface Stats {
  readonly companies: number
  readonly people: number
  readonly jobs: number
  readonly technologies: number
  readonly posts: number
}

/** Counts the records of each kind. */
export async function countAll(connection: Connection): Promise<Stats> {
  const counts = await connection.get<Stats>(`SELECT
    (SELECT count(*) FROM companies) AS companies,
    (SELECT count(*) FROM people) AS people,
    (SELECT count(*) FROM jobs) AS jobs,
    (SELECT count(*) FROM technologies) AS technologies,
    (SELECT count(*) FROM posts) AS posts`)
  if (!counts) throw new Error('no counts')
  return counts
}
