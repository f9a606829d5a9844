import type { Connection, DeclaredTable, Driver, StoredRow, Value } from '../../storage/driver/connection.js'
import type {
  Condition,
  EstimatedCondition,
  Selectivity,
  TextQuery,
  TextTable,
  Tokenizer,
} from '../full-text/keyword.js'

/** Where rows are written, and what cuts their texts into words. */
interface RowTarget {
  readonly connection: Connection
  readonly tokenize: Tokenizer
}

export type RowInserter = (
  to: RowTarget,
  key: number,
  values: readonly Value[],
  texts: readonly string[],
) => void

/** Where a search of people begins. */
interface PeoplePath {
  /** The column of their keys, which the matches are ordered by. */
  readonly key: string
  readonly from: string
  readonly conditions: readonly Condition[]
  /** Whether all matches are known before the first one is answered, so that counting them is free. */
  readonly isCounted?: boolean
}

/** What an import wrote: its table, all tables it filled, and how many records it updated. */
export interface Loaded {
  readonly table: string
  readonly tables: readonly string[]
  readonly updated: number
}

export interface CopiedTable extends DeclaredTable {
  readonly textsOf?: ((record: string) => readonly string[]) | undefined
}

/** Writes a copy into an empty catalogue, within one transaction. */
export interface CopyTarget {
  /** Puts aside what would only cost time until the copy is complete. */
  begin(): Promise<void>
  add(table: CopiedTable, rows: readonly StoredRow[]): Promise<void>
  end(): Promise<void>
}

/** A first import into a table, whose indexes are missing until its end. */
export interface BulkLoading {
  /** Returns whether indexes are missing: a first import is under way, or was killed. */
  hasDeferredIndexes(connection: Connection): boolean
  /** Until `endLoad`: drops the indexes of tables that are about to be filled, and leaves the words of texts unmerged. */
  deferIndexes(connection: Connection, tables: readonly string[]): void
  /** Builds the missing indexes that a lookup by a column needs. */
  buildIndexesOn(connection: Connection, table: string, column: string): void
  /** Returns a number that differs from an earlier answer when others wrote to the database in between. */
  countForeignWrites(connection: Connection): number | undefined
  /** Gives the connection more memory from now on; until `endBulkWrites`, commits are not durable one by one. */
  beginBulkWrites(driver: Driver): Promise<void>
  endBulkWrites(driver: Driver): Promise<void>
}

/** What a catalogue spells differently in SQLite and in PostgreSQL. */
export interface CatalogueDialect {
  readonly texts: {
    matchTexts(table: TextTable, query: TextQuery, selectivity: Selectivity): Condition
    /** Returns a function that inserts a row with its texts; values come in the order of the columns. */
    createRowInserter(table: TextTable, columns: readonly string[]): RowInserter
    replaceTexts(to: RowTarget, table: TextTable, key: number, texts: readonly string[]): void
    /** Deletes the texts that rows are found by, where they are not a column of the row. */
    deleteTexts(connection: Connection, table: TextTable, keys: readonly number[]): Promise<void>
  }
  readonly search: {
    peoplePath(text: TextQuery | undefined, staff: EstimatedCondition | undefined): PeoplePath
    /** Returns a query for the titles of the first people, by key, whose texts fulfil a query. */
    firstTitles(query: TextQuery, limit: number): Condition
    /** Whether an index has the names of companies in the order of their code points. */
    readonly hasOrderedNames: boolean
    /** Returns whether indexes are there; while a table is filled for the first time, they may be missing. */
    hasIndexes(connection: Connection, names: readonly string[]): Promise<boolean>
  }
  readonly load: {
    /** Absent where other machines share the database: many records are asked for at once, and no index is ever missing. */
    readonly bulk?: BulkLoading
    /** Ends a load, also one that was killed. Does nothing when it is ended already. */
    endLoad(driver: Driver, loaded: Loaded | undefined): Promise<void>
    /** Removes what the database remembers of deleted rows. */
    forgetDeletedRows(driver: Driver, tables: readonly string[]): Promise<void>
  }
  readonly copy: {
    /** Keeps the server from ending a transaction that waits for the other side of the copy. */
    waitLonger(connection: Connection): Promise<void>
    createTarget(connection: Connection, tables: readonly CopiedTable[]): CopyTarget
  }
}
