import type { Ids } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { createTokenizer, type Tokenizer } from '../full-text/tokenizer.js'
import type { RecordKind } from '../kinds/kind.js'
import type { BulkLoad } from './bulk-load.js'
import { awaitResult, type Steps } from './sync-steps.js'

/** What writing records needs in one transaction, and what it learns there. */
export interface WriteContext {
  readonly connection: Connection
  /** The database whose limits records have to keep. */
  readonly target: Pick<Connection, 'dialect'>
  /** Splits texts into words, for a database that does not. */
  readonly tokenize: Tokenizer
  readonly ids: Ids
  /** Returns the key of the next row of a table. Only one transaction at a time adds rows. */
  nextKey(table: RecordKind): number
  /**
   * Returns whether records of a table may have a value in a column, all of them or those of a `part`. False only when
   * certainly none has it. `column` is the first of an index.
   */
  mayExist(table: RecordKind, column: string, value: string, part?: string): boolean
  /** Remembers a value that a record can now be found by, and the parts that the record is in. */
  remember(table: RecordKind, column: string, value: string | null, parts?: readonly string[]): void
  /** Keys of technologies by slug. */
  readonly technologies: Map<string, number>
  /** Keys of the companies that people and jobs name, by the spelling of their identifiers. */
  readonly employers: Map<string, number | undefined>
  /** Returns the key of the company with a domain, when it was prefetched. */
  companyKeyAt(domain: string): number | undefined
  /** Number of companies created because another record named them. */
  companies: number
}

/** Lookups that were made in advance for the records of a transaction, to avoid a round trip for each new record. */
export interface Prefetched {
  /** Returns whether a record of a table may have a value in a column; true when it was not looked up. */
  mayExist(table: RecordKind, column: string, value: string): boolean
  /** Remembers that a written record has a value. */
  remember(table: RecordKind, column: string, value: string): void
  /** Returns the key of the company with a domain; `undefined` when there was none or it was not looked up. */
  companyKeyAt(domain: string): number | undefined
}

/** Whether a record was new, and whether a known one differs from what was stored. */
export type WriteResult = 'added' | 'updated' | 'unchanged'

/** Creates the context of a transaction that writes records of a kind. */
export function* createWriteContext(
  connection: Connection,
  kind: RecordKind,
  ids: Ids,
  load?: BulkLoad,
  prefetched?: Prefetched,
  target: Pick<Connection, 'dialect'> = connection,
): Steps<WriteContext> {
  const last = new Map<RecordKind, number>()
  // Other kinds may create companies.
  for (const table of new Set<RecordKind>([kind, 'companies']))
    last.set(table, yield* readLastKey(connection, table))
  return {
    connection,
    target,
    tokenize: createTokenizer(),
    ids,
    technologies: new Map(),
    employers: new Map(),
    companyKeyAt: (domain) => prefetched?.companyKeyAt(domain),
    companies: 0,
    nextKey(table) {
      const key = (last.get(table) ?? 0) + 1
      last.set(table, key)
      return key
    },
    mayExist: (table, column, value, part = all) =>
      (!prefetched || prefetched.mayExist(table, column, value)) &&
      (!load || load.mayExist(connection, table, column, value, part)),
    remember(table, column, value, parts = none) {
      if (value === null) return
      prefetched?.remember(table, column, value)
      if (load) load.remember(table, column, value, [all, ...parts])
    },
  }
}

/** The part that contains every record. */
const all = ''
const none: readonly string[] = []

function* readLastKey(connection: Connection, table: RecordKind): Steps<number> {
  const row = yield* awaitResult(
    connection.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`),
  )
  return row?.key ?? 0
}
