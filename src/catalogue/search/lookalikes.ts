import { ApiError } from '../../api/calls/errors.js'
import type { LookalikeFilters, Similarity } from '../../api/ports/ports.js'
import { type Connection, fillSql } from '../../storage/driver/connection.js'
import { nameOfIndustry } from '../full-text/facets.js'
import { type Condition, countRows, every } from '../full-text/keyword.js'
import { matchCompany, toAccount } from '../records/match-company.js'
import { companyConditions } from './conditions.js'
import { parseCursor, type Searcher, toPage } from './search-kind.js'
import similaritySql from './similarity.sql'

/** Searches companies like the given ones, which are left out; the most similar first. 404 when no profile is known. */
export const lookalikes: Searcher<'lookalikes'> = {
  count: async (connection, filters) =>
    await countRows(connection, await selectLookalikes(connection, filters)),

  find: async (connection, filters, { limit, after }) => {
    const [sql, ...values] = await selectLookalikes(connection, filters)
    const [score, key] = parseCursor<LookalikeCursor>(after) ?? [scoreUnits + 1, 0]
    const rows = await connection.all<LookalikeRow>(
      `SELECT found.*, record FROM (
        SELECT * FROM (${sql}) AS alike WHERE score < ? OR score = ? AND key > ? ORDER BY score DESC, key LIMIT ?
      ) AS found JOIN companies ON companies.key = found.key ORDER BY score DESC, found.key`,
      ...values,
      score,
      score,
      key,
      limit + 1,
    )
    const toRecord = (row: LookalikeRow) => {
      const similarity = toSimilarity(row)
      return { account: { ...toAccount(row.record), similarity_score: similarity.score }, similarity }
    }
    return toPage(rows, limit, (row) => [row.score, row.key], toRecord)
  },
}

type LookalikeCursor = readonly [score: number, key: number]

interface LookalikeRow extends Similarity {
  readonly key: number
  readonly record: string
}

const toSimilarity = (row: LookalikeRow): Similarity => ({
  score: row.score / scoreUnits,
  industry: round(row.industry),
  size: round(row.size),
  country: round(row.country),
  technologies: round(row.technologies),
  growth: round(row.growth),
})

const round = (part: number): number => Math.round(part * scoreUnits) / scoreUnits

const base = 'for_industry * same_industry + for_size * alike_size + for_country * same_country'

async function selectLookalikes(connection: Connection, filters: LookalikeFilters): Promise<Condition> {
  const examples = await findExamples(connection, filters)
  const [condition, ...values] = every(companyConditions(filters))
  const sql = fillSql(similaritySql, {
    base,
    condition,
    scoreUnits,
    minUnits: Math.round(minScore * scoreUnits),
    alikeSize: likeness(`abs(${logarithm} - of_logarithm) / ${Math.log(sizeFactor)}`),
    alikeGrowth: likeness(`abs(growth - of_growth) / ${growthPoints}`),
  })
  return [sql, JSON.stringify(examples.map(weighExample)), ...values]
}

/** Returns 1 for no difference, and 0 for one of 1 or more and for an unknown one. */
const likeness = (difference: string): string =>
  `CASE WHEN ${difference} < 1 THEN 1 - ${difference} ELSE 0 END`

const facts = `SELECT key, industry, industry_name, country, headcount, size,
    (SELECT count(*) FROM company_technologies WHERE company = companies.key) AS technologies,
    (SELECT growth FROM headcount_growth WHERE company = companies.key AND department = 'all') AS growth
  FROM companies WHERE key = ?`

/** Returns the companies with the given profiles, each once. */
async function findExamples(
  connection: Connection,
  { company_network_url, company_network_urls = [] }: LookalikeFilters,
): Promise<CompanyExample[]> {
  const urls = company_network_url === undefined ? company_network_urls : [company_network_url]
  const examples = new Map<number, CompanyExample>()
  for (const url of urls) {
    const company = await matchCompany(connection, { url })
    const known =
      company && (await connection.get<CompanyExample & { size: number | null }>(facts, company.key))
    if (!known) continue
    const { size, ...example } = known
    const usual = size === null ? null : (usualHeadcounts[size] ?? null)
    const industry_name = example.industry_name ?? nameOfIndustry(example.industry) ?? null
    examples.set(example.key, { ...example, industry_name, headcount: example.headcount ?? usual })
  }
  if (examples.size === 0) throw new ApiError('no_company_found')
  return [...examples.values()]
}

type Aspect = Exclude<keyof Similarity, 'score'>

/** The weight of each aspect when all are known; the sum is 1. */
export const weights: Readonly<Record<Aspect, number>> = {
  industry: 0.35,
  technologies: 0.25,
  size: 0.2,
  country: 0.1,
  growth: 0.1,
}

/** Nothing resembles a company when less than this share of the weights is known. */
const minKnown = 0.5

export const similarityScale = {
  minScore: 0.6,
  /** Scores are whole numbers of this, so that companies of one score keep the order of their keys. */
  scoreUnits: 10_000,
  /** Headcounts that differ by this factor are not alike at all. */
  sizeFactor: 10,
  /** Growths of 12 months that differ by so many percentage points are not alike at all. */
  growthPoints: 50,
  /** A headcount for each company size, in their order, where no exact one is known. */
  usualHeadcounts: [1, 5, 25, 110, 320, 700, 2_200, 7_000, 15_000],
}
const { minScore, scoreUnits, sizeFactor, growthPoints, usualHeadcounts } = similarityScale

const headcount = `coalesce(headcount, CASE size ${usualHeadcounts.map((usual, size) => `WHEN ${size} THEN ${usual}`).join(' ')} END)`
/** The logarithm of the headcount of a company, of one at least; NULL where it is unknown. */
const logarithm = `ln(CAST(CASE WHEN ${headcount} < 1 THEN 1 ELSE ${headcount} END AS DOUBLE PRECISION))`

/** A company that others are compared with; unknown values are null. */
interface CompanyExample {
  readonly key: number
  readonly industry: string | null
  readonly industry_name: string | null
  readonly headcount: number | null
  readonly country: string | null
  /** How many technologies it uses. */
  readonly technologies: number
  /** Per cent in 12 months. */
  readonly growth: number | null
}

/**
 * Returns an example with weights for its known aspects, whose sum is 1. `least_base` is the minimum score of industry, size and
 * country; technologies and growth cannot make up for less. It is null when too little is known of the company for anything to
 * resemble it.
 */
function weighExample({ headcount, ...example }: CompanyExample, place: number) {
  const known: Readonly<Record<Aspect, boolean>> = {
    industry: example.industry !== null || example.industry_name !== null,
    technologies: example.technologies > 0,
    size: headcount !== null,
    country: example.country !== null,
    growth: example.growth !== null,
  }
  const aspects = Object.keys(weights) as Aspect[]
  const whole = aspects.reduce((sum, aspect) => sum + (known[aspect] ? weights[aspect] : 0), 0)
  const scaled = (aspect: Aspect) => (known[aspect] ? weights[aspect] / whole : 0)
  const own = Object.fromEntries(aspects.map((aspect) => [`for_${aspect}`, scaled(aspect)]))
  // A unit of the score is left for its rounding.
  const least = minScore - scaled('technologies') - scaled('growth') - 1 / scoreUnits
  return {
    ...example,
    ...own,
    place,
    logarithm: headcount === null ? null : Math.log(Math.max(1, headcount)),
    least_base: whole < minKnown ? null : least,
  }
}
