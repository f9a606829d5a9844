import type { TechnologyUse } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { StoredAccount } from '../records/company-row.js'
import type { Candidate } from '../records/match-company.js'

// Uses are kept by technology; a company's own are found through the slugs in its record.
const uses = `SELECT t.name, t.slug, u.confidence
  FROM (SELECT value AS slug FROM json_each(?)) AS s
  JOIN technologies AS t ON t.slug = s.slug
  JOIN company_technologies AS u ON u.technology = t.key AND u.company = ?
  ORDER BY u.confidence DESC, t.slug`

/** Returns the technologies a company uses, the most certain first. */
export const findTechnologyUses = async (
  connection: Connection,
  { key, record }: Candidate,
): Promise<TechnologyUse[]> =>
  await connection.all<TechnologyUse>(
    uses,
    JSON.stringify((JSON.parse(record) as StoredAccount).technologies ?? []),
    key,
  )
