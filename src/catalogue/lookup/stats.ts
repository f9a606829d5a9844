import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'

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

/** An industry, and how many companies are in it. */
export interface IndustryCount {
  readonly id: string | null
  /** In lower case, as searches compare it. */
  readonly name: string | null
  readonly companies: number
}

/** Counts the companies of each industry, the largest first. */
export const countIndustries = async (connection: Connection): Promise<IndustryCount[]> =>
  connection.all<IndustryCount>(`SELECT industry AS id, industry_name AS name, count(*) AS companies
    FROM companies WHERE industry IS NOT NULL OR industry_name IS NOT NULL
    GROUP BY industry, industry_name ORDER BY count(*) DESC, industry_name`)

/** The state of a catalogue, read without counting. */
interface CatalogueState {
  /** No company and no person. */
  readonly isEmpty: boolean
  /** Indexes are missing: a first import is under way, or was killed. */
  readonly isUnbuilt: boolean
}

/** Reads the state of a catalogue that has this program's schema. */
export async function readCatalogueState(connection: Connection): Promise<CatalogueState> {
  const hasRows = async (table: string) =>
    (await connection.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) !== undefined
  return {
    isEmpty: !(await hasRows('companies')) && !(await hasRows('people')),
    isUnbuilt: dialectOf(connection).load.hasDeferredIndexes(connection),
  }
}
