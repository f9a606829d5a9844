import type { Ids, Technology } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { createTokenizer } from '../full-text/tokenizer.js'
import type { RecordKind } from '../kinds/kind.js'
import type { BulkLoad } from './bulk-load.js'
import { awaitResult, type Steps } from './sync-steps.js'

/** What writing records needs in one transaction, and what it learns there. */
export type WriteContext =
  ReturnType<typeof createWriteContext> extends Steps<infer Context> ? Context : never

/** A technology as it is stored. */
export interface StoredTechnology extends Omit<Technology, 'slug'> {
  readonly key: number
}

/** Lookups that were made in advance for the records of a transaction, to avoid a round trip for each new record. */
export interface Prefetched {
  /** Returns whether a record of a table may have a value in a column; true when it was not looked up. */
  mayExist(table: RecordKind, column: string, value: string): boolean
  /** Remembers that a written record has a value. */
  remember(table: RecordKind, column: string, value: string): void
  /** Returns the key of the company with a domain; `undefined` when there was none or it was not looked up. */
  companyKeyAt(domain: string): number | undefined
  /** Technologies by slug, as they were stored; `undefined` for those that were not. A preview reads each itself. */
  readonly technologies?: ReadonlyMap<string, StoredTechnology | undefined>
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
) {
  const last = new Map<RecordKind, number>()
  // Other kinds may create companies.
  for (const table of new Set<RecordKind>([kind, 'companies']))
    last.set(table, yield* readLastKey(connection, table))
  return {
    connection,
    /** The database whose limits records have to keep. */
    target,
    /** Splits texts into words, for a database that does not. */
    tokenize: createTokenizer(),
    ids,
    /** Technologies by slug, as they are stored; `undefined` for those that are not. */
    technologies: new Map<string, StoredTechnology | undefined>(prefetched?.technologies),
    /** Keys of the companies that people and jobs name, by the spelling of their identifiers. */
    employers: new Map<string, number | undefined>(),
    /** Returns the key of the company with a domain, when it was prefetched. */
    companyKeyAt: (domain: string) => prefetched?.companyKeyAt(domain),
    /** Number of companies created because another record named them. */
    companies: 0,
    /** Returns the key of the next row of a table. Only one transaction at a time adds rows. */
    nextKey(table: RecordKind) {
      const key = (last.get(table) ?? 0) + 1
      last.set(table, key)
      return key
    },
    /**
     * Returns whether records of a table may have a value in a column, all of them or those of a `part`. False only when
     * certainly none has it. `column` is the first of an index.
     */
    mayExist: (table: RecordKind, column: string, value: string, part = all) =>
      (!prefetched || prefetched.mayExist(table, column, value)) &&
      (!load || load.mayExist(connection, table, column, value, part)),
    /** Remembers a value that a record can now be found by, and the parts that the record is in. */
    remember(table: RecordKind, column: string, value: string | null, parts = none) {
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
