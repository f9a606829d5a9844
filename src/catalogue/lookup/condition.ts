import type { Connection } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialect.js'

/** What state a catalogue is in, told without counting or changing anything. */
export interface Condition {
  /** No company and no person. */
  readonly isEmpty: boolean
  /** Indexes are missing: a first import is under way, or was killed. */
  readonly isUnbuilt: boolean
}

/** The condition of a catalogue of this program's schema. */
export async function conditionOf(connection: Connection): Promise<Condition> {
  const holds = async (table: string) =>
    (await connection.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) !== undefined
  return {
    isEmpty: !(await holds('companies')) && !(await holds('people')),
    isUnbuilt: dialectOf(connection).load.hasDeferredIndexes(connection),
  }
}
