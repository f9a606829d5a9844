import type { Connection } from '../storage/driver.js'
import { atOnce } from './statements.js'
import { areMissing } from './unbuilt.js'

/** What state a catalogue is in, told without counting or changing anything. */
export interface Condition {
  /** No company and no person. */
  readonly isEmpty: boolean
  /** Indexes are missing: a first import is under way, or was killed. */
  readonly isUnbuilt: boolean
}

/** The condition of a catalogue of this program's schema. */
export function conditionOf(connection: Connection): Condition {
  const statements = atOnce(connection)
  const holds = (table: string) => statements.get(`SELECT 1 FROM ${table} LIMIT 1`) !== undefined
  return { isEmpty: !holds('companies') && !holds('people'), isUnbuilt: areMissing(statements) }
}
