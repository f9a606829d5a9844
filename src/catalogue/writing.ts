import type { Ids } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'
import type { Kind } from './kind.js'
import type { Load } from './load.js'
import { atOnce, type Statements } from './statements.js'

/** What writing records needs within one transaction, and what it learns there; dropped with the transaction. */
export interface Writing {
  readonly statements: Statements
  readonly ids: Ids
  /** The key of the next row of a table: this transaction is the only one that adds any. */
  nextKey(table: Kind): number
  /**
   * Whether a part of the records of a table, of all unless it is named, may have a value in a column; false only where
   * none does for certain. `column` leads an index.
   */
  mayHold(table: Kind, column: string, value: string, part?: string): boolean
  /** Remembers a value that a record can be found by from now on, and which parts of the records it is in. */
  note(table: Kind, column: string, value: string | null, parts?: readonly string[]): void
  /** Keys of technologies by slug. */
  readonly technologies: Map<string, number>
  /** Keys of the companies that people and jobs name, by how they name them. */
  readonly employers: Map<string, number | undefined>
  /** Companies created because another record named them. */
  companies: number
}

/** What became of a record. */
export type Written = 'added' | 'updated'

/** Begins the writing of a transaction, which may be a part of a load. */
export function beginWriting(connection: Connection, ids: Ids, load?: Load): Writing {
  const statements = atOnce(connection)
  const last = new Map<Kind, number>()
  return {
    statements,
    ids,
    technologies: new Map(),
    employers: new Map(),
    companies: 0,
    nextKey(table) {
      const key = (last.get(table) ?? lastKey(statements, table)) + 1
      last.set(table, key)
      return key
    },
    mayHold: (table, column, value, part = all) =>
      !load || load.mayHold(statements, table, column, value, part),
    note(table, column, value, parts = none) {
      if (load && value !== null) load.note(table, column, value, [all, ...parts])
    },
  }
}

/** The part that every record is in. */
const all = ''
const none: readonly string[] = []

const lastKey = (statements: Statements, table: Kind): number =>
  statements.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`)?.key ?? 0
