import type { StackFilters, TechnologiesFound } from '../../api/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { type Condition, ifAny, isOneOf, not } from '../full-text/keyword.js'
import { toAccount } from '../records/match-company.js'
import { toSlug } from '../records/technologies.js'
import { countCompanies, listCompanies } from './companies.js'
import { companyConditions } from './conditions.js'
import { type Searcher, toPage } from './search-kind.js'

/** Searches companies by the technologies they use, the largest first. No company uses an unknown technology. */
export const stackSearch: Searcher<'stack'> = {
  count: async (connection, filters) =>
    await countCompanies(connection, await conditionsOf(connection, filters)),

  find: async (connection, filters, span) => {
    const conditions = await conditionsOf(connection, filters)
    const { rows, position } = await listCompanies(connection, conditions, span)
    const keys = rows.slice(0, span.limit).map(({ key }) => key)
    const found = await readUses(connection, keys, await findRequested(connection, filters.stacks))
    return toPage(rows, span.limit, position, ({ key, record }) => ({
      account: toAccount(record),
      technologies_found: found.get(key) ?? [],
    }))
  },
}

async function conditionsOf(connection: Connection, filters: StackFilters): Promise<Condition[]> {
  const included = await findRequested(connection, filters.stacks)
  const excluded = await findRequested(connection, filters.excluded_stacks)
  const uses = filters.stack_match === 'and' ? usesAll : usesAny
  return [
    ...(included ? [uses(included)] : []),
    ...(excluded ? [not(usesAny(excluded))] : []),
    ...ifAny(filters.countries, (codes) => isOneOf('country', codes)),
    ...companyConditions(filters),
  ]
}

type Requested = NonNullable<Awaited<ReturnType<typeof findRequested>>>

/** Returns the technologies of slugs; `undefined` when none is given. */
async function findRequested(connection: Connection, stacks: readonly string[] | undefined) {
  if (!stacks?.length) return undefined
  const slugs = [...new Set(stacks.map(toSlug))]
  const rows = await connection.all<{ key: number }>(
    'SELECT key FROM technologies WHERE slug IN (SELECT value FROM json_each(?))',
    JSON.stringify(slugs),
  )
  return {
    keys: rows.map(({ key }) => key),
    /** Whether others are not known. */
    unknown: rows.length < slugs.length,
  }
}

// The `+` keeps SQLite from a lookup by index for each user with each other value.
const users = `SELECT company FROM company_technologies WHERE technology IN (SELECT atom FROM json_each(?))`

const usesAny = ({ keys }: Requested): Condition => [`+key IN (${users})`, JSON.stringify(keys)]

const usesAll = ({ keys, unknown }: Requested): Condition =>
  unknown
    ? ['FALSE']
    : [`+key IN (${users} GROUP BY company HAVING count(*) = ?)`, JSON.stringify(keys), keys.length]

const uses = `SELECT u.company, t.name AS technology_name, u.confidence, u.mentions AS job_mentions
  FROM (SELECT atom AS company FROM json_each(?)) AS c
  CROSS JOIN company_technologies AS u ON u.company = c.company
  CROSS JOIN technologies AS t ON t.key = u.technology`

/** Returns which of the requested technologies companies use, or all of theirs where none is; the most certain first. */
async function readUses(
  connection: Connection,
  companies: readonly number[],
  technologies: Requested | undefined,
): Promise<ReadonlyMap<number, TechnologiesFound>> {
  const [only, ...values]: Condition = technologies
    ? ['u.technology IN (SELECT atom FROM json_each(?))', JSON.stringify(technologies.keys)]
    : ['TRUE']
  const sql = `${uses} WHERE ${only} ORDER BY u.confidence DESC, t.slug`
  type Use = { company: number; technology_name: string; confidence: number; job_mentions: number }
  const rows = await connection.all<Use>(sql, JSON.stringify(companies), ...values)
  const byCompany = new Map<number, TechnologiesFound>(companies.map((key) => [key, []]))
  for (const { company, confidence, ...use } of rows)
    byCompany.get(company)?.push({ ...use, confidence: toLevel(confidence) })
  return byCompany
}

/** Returns the level of a confidence: `medium` from 0.5, `high` from 0.8. */
const toLevel = (confidence: number): 'low' | 'medium' | 'high' =>
  confidence < 0.5 ? 'low' : confidence < 0.8 ? 'medium' : 'high'
