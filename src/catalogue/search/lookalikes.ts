import { ApiError } from '../../api/calls/errors.js'
import type { LookalikeFilters, Similarity } from '../../engine/ports/ports.js'
import type { Connection, Value } from '../../storage/driver/connection.js'
import { every } from '../full-text/sql-conditions.js'
import { accountOf } from '../records/company-row.js'
import { matchCompany } from '../records/match-company.js'
import { companyConditions } from './company-conditions.js'
import { partOf, readPosition } from './cursor.js'
import type { Finder } from './search-kind.js'
import { type Example, scoreUnits, usualHeadcounts, yardstick } from './similarity.js'
import { resemblingInPostgres } from './similarity-postgres.js'
import { resembling } from './similarity-sqlite.js'
import { whenBuilt } from './when-built.js'

/**
 * Companies that resemble one of those given, the most alike first; which are not among them. 404 where the catalogue
 * knows none of the profiles.
 */
export const lookalikes: Finder<'lookalikes'> = whenBuilt(['company_technologies_by_company'], {
  count: async (connection, filters) => {
    const [sql, ...values] = await alike(connection, filters)
    const row = await connection.get<{ total: number }>(
      `SELECT count(*) AS total FROM (${sql}) AS alike`,
      ...values,
    )
    return row?.total ?? 0
  },

  find: async (connection, filters, { limit, after }) => {
    const [sql, ...values] = await alike(connection, filters)
    const [score, key] = readPosition<Place>(after) ?? [scoreUnits + 1, 0]
    const rows = await connection.all<Row>(
      `SELECT found.*, record FROM (
        SELECT * FROM (${sql}) AS alike WHERE score < ? OR score = ? AND key > ? ORDER BY score DESC, key LIMIT ?
      ) AS found JOIN companies ON companies.key = found.key ORDER BY score DESC, found.key`,
      ...values,
      score,
      score,
      key,
      limit + 1,
    )
    const { records, ...more } = partOf(rows, limit, (row) => [row.score, row.key])
    const record = (row: Row) => ({ account: accountOf(row.record), similarity: similarityOf(row) })
    return { records: records.map(record), ...more }
  },
})

type Place = readonly [score: number, key: number]

interface Row extends Similarity {
  readonly key: number
  readonly record: string
}

const similarityOf = ({ score, industry, size, country, technologies, growth }: Row): Similarity => ({
  score: score / scoreUnits,
  industry: rounded(industry),
  size: rounded(size),
  country: rounded(country),
  technologies: rounded(technologies),
  growth: rounded(growth),
})

const rounded = (part: number): number => Math.round(part * scoreUnits) / scoreUnits

async function alike(
  connection: Connection,
  filters: LookalikeFilters,
): Promise<readonly [sql: string, ...values: Value[]]> {
  const examples = await examplesOf(connection, filters)
  const [condition, ...values] = every(companyConditions(filters))
  const alike = connection.dialect === 'postgres' ? resemblingInPostgres : resembling
  return [alike(condition), JSON.stringify(examples.map(yardstick)), ...values]
}

const facts = `SELECT key, industry, industry_name, country, headcount, size,
    (SELECT count(*) FROM company_technologies WHERE company = companies.key) AS technologies,
    (SELECT growth FROM headcount_growth WHERE company = companies.key AND department = 'all') AS growth
  FROM companies WHERE key = ?`

/** The companies whose profiles are given, each once. */
async function examplesOf(
  connection: Connection,
  { company_network_url, company_network_urls = [] }: LookalikeFilters,
): Promise<Example[]> {
  const urls = company_network_url === undefined ? company_network_urls : [company_network_url]
  const examples = new Map<number, Example>()
  for (const url of urls) {
    const company = await matchCompany(connection, { url })
    const known = company && (await connection.get<Example & { size: number | null }>(facts, company.key))
    if (!known) continue
    const { size, ...example } = known
    const usual = size === null ? null : (usualHeadcounts[size] ?? null)
    examples.set(example.key, { ...example, headcount: example.headcount ?? usual })
  }
  if (examples.size === 0) throw new ApiError('no_company_found')
  return [...examples.values()]
}
