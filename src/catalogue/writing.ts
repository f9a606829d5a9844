import type { Ids } from '../engine/ports.js'
import type { Connection } from '../storage/driver.js'

/** What writing records needs within one transaction, and what it learns there; dropped with the transaction. */
export interface Writing {
  readonly connection: Connection
  readonly ids: Ids
  /** The key of the next row of a table: this transaction is the only one that adds any. */
  nextKey(table: 'companies' | 'people' | 'jobs' | 'posts'): Promise<number>
  /** Keys of technologies by slug. */
  readonly technologies: Map<string, number>
  /** Keys of the companies that people and jobs name, by how they name them. */
  readonly employers: Map<string, number | undefined>
  /** Companies created because another record named them. */
  companies: number
}

/** What became of a record. */
export type Written = 'added' | 'updated'

/** Begins the writing of a transaction. */
export function beginWriting(connection: Connection, ids: Ids): Writing {
  const last = new Map<string, number>()
  return {
    connection,
    ids,
    technologies: new Map(),
    employers: new Map(),
    companies: 0,
    async nextKey(table) {
      const before = last.get(table) ?? (await lastKey(connection, table))
      last.set(table, before + 1)
      return before + 1
    },
  }
}

async function lastKey(connection: Connection, table: string): Promise<number> {
  return (await connection.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`))?.key ?? 0
}
