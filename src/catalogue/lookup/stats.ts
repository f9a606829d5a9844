import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'

const counted = ['companies', 'people', 'jobs', 'technologies', 'posts'] as const

/** How many records of each kind the catalogue holds. */
export type Stats = Readonly<Record<(typeof counted)[number], number>>

/** Counts the records of each kind. */
export async function countAll(connection: Connection): Promise<Stats> {
  const counts = counted.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`)
  return (await connection.get<Stats>(`SELECT ${counts.join(', ')}`)) as Stats
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
