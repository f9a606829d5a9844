import type { Ids } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { createTokenizer, type Tokenizer } from '../full-text/tokenizer.js'
import type { Kind } from '../kinds/kind.js'
import type { Load } from './bulk-load.js'
import { answered, type Steps } from './sync-steps.js'

/** What writing records needs within one transaction, and what it learns there; dropped with the transaction. */
export interface Writing {
  readonly connection: Connection
  /** Cuts texts into words, where the database does not. */
  readonly tokenize: Tokenizer
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
  /** The key of the company with a domain, where it is known without asking. */
  keyAt(domain: string): number | undefined
  /** Companies created because another record named them. */
  companies: number
}

/**
 * What a transaction knows of the records that it is about to write. Where each answer takes a way to the server and back,
 * nearly none is asked for what is new.
 */
export interface Ahead {
  /** Whether a record of a table may have a value in a column; true wherever it was not asked. */
  mayHold(table: Kind, column: string, value: string): boolean
  /** Remembers that a record has it from now on. */
  note(table: Kind, column: string, value: string): void
  /** The key of the company with a domain, where that was asked and is still so. */
  keyAt(domain: string): number | undefined
}

/** What became of a record. */
export type Written = 'added' | 'updated'

/** Begins the writing of a transaction, which may be a part of a load, and adds records of a kind. */
export function* beginWriting(
  connection: Connection,
  kind: Kind,
  ids: Ids,
  load?: Load,
  ahead?: Ahead,
): Steps<Writing> {
  const last = new Map<Kind, number>()
  // Companies may come with others.
  for (const table of new Set<Kind>([kind, 'companies'])) last.set(table, yield* lastKey(connection, table))
  return {
    connection,
    tokenize: createTokenizer(),
    ids,
    technologies: new Map(),
    employers: new Map(),
    keyAt: (domain) => ahead?.keyAt(domain),
    companies: 0,
    nextKey(table) {
      const key = (last.get(table) ?? 0) + 1
      last.set(table, key)
      return key
    },
    mayHold: (table, column, value, part = all) =>
      (!ahead || ahead.mayHold(table, column, value)) &&
      (!load || load.mayHold(connection, table, column, value, part)),
    note(table, column, value, parts = none) {
      if (value === null) return
      ahead?.note(table, column, value)
      if (load) load.note(table, column, value, [all, ...parts])
    },
  }
}

/** The part that every record is in. */
const all = ''
const none: readonly string[] = []

function* lastKey(connection: Connection, table: Kind): Steps<number> {
  const row = yield* answered(connection.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`))
  return row?.key ?? 0
}
