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
   * Whether a table may hold a record with this value in a column; false only where it does not for certain. `among`
   * names a part of the records, in the words of `note`.
   */
  mayHold(table: Kind, column: string, value: string, among?: string): boolean
  /** Remembers what a record can be found by from now on, and which parts of the records it is among. */
  note(table: Kind, column: string, value: string | null | undefined, among?: readonly string[]): void
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
    mayHold: (table, column, value, among = '') =>
      !load || load.mayHold(statements, table, column, identity(column, value, among)),
    note(table, column, value, among = []) {
      if (!load || value === null || value === undefined) return
      load.note(table, identity(column, value))
      for (const part of among) load.note(table, identity(column, value, part))
    },
  }
}

const identity = (column: string, value: string, among = ''): string => `${column} ${among} ${value}`

const lastKey = (statements: Statements, table: Kind): number =>
  statements.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`)?.key ?? 0
