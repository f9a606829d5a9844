import type { Connection, Driver, Value } from '../../storage/driver/connection.js'
import type { Condition, EstimatedCondition, Selectivity } from '../full-text/sql-conditions.js'
import type { TextQuery, TextTable } from '../full-text/text-query.js'
import type { Tokenizer } from '../full-text/tokenizer.js'
import * as postgresCopy from './postgres/copy.js'
import * as postgresTexts from './postgres/full-text.js'
import * as postgresLoad from './postgres/load.js'
import * as postgresSearch from './postgres/search.js'
import * as postgresSimilarity from './postgres/similarity.js'
import * as sqliteCopy from './sqlite/copy.js'
import * as sqliteTexts from './sqlite/full-text.js'
import * as sqliteLoad from './sqlite/load.js'
import * as sqliteSearch from './sqlite/search.js'
import * as sqliteSimilarity from './sqlite/similarity.js'

type Awaitable<T> = T | Promise<T>

/** Where rows are written, and what cuts their texts into words. */
export interface RowTarget {
  readonly connection: Connection
  readonly tokenize: Tokenizer
}

/** Inserts a row with the texts that it is found by. */
export type RowInserter = (
  to: RowTarget,
  key: number,
  values: readonly Value[],
  texts: readonly string[],
) => void

/** Where a search of people begins. */
export interface PeoplePath {
  /** The column of their keys, which the matches are ordered by. */
  readonly key: string
  readonly from: string
  readonly conditions: readonly Condition[]
  /** Whether all matches are known before the first one is answered, so that counting them is free. */
  readonly isCounted: boolean
}

/** What companies are compared by; see `similarity.ts` in `search`. */
export interface SimilarityScale {
  readonly leastScore: number
  readonly scoreUnits: number
  readonly sizeFactor: number
  readonly growthPoints: number
  readonly usualHeadcounts: readonly number[]
}

/** What an import wrote: its table, all tables it filled, and how many records it updated. */
export interface Loaded {
  readonly table: string
  readonly tables: readonly string[]
  readonly updated: number
}

/** How to restore what was changed for bulk writes. */
export interface BulkSettings {
  /** Memory, and the length of the log. */
  restoreMemory(): Promise<void>
  /** What makes commits durable and references checked. */
  restoreDurability(): Promise<void>
}

/** A table as a copy takes it. */
export interface CopiedTable {
  /** How many of the first columns its rows are known by. */
  readonly keys: number
  readonly columns: Readonly<Record<string, 'whole' | 'number' | 'text'>>
  /** The texts that a record is found by. */
  readonly textsOf?: (record: string) => readonly string[]
}

/** A row by its columns. */
export type CopiedRow = Readonly<Record<string, Value>>

/** Writes a copy into an empty catalogue, within one transaction. */
export interface CopyTarget {
  /** Puts aside what would only cost time until the copy is complete. */
  begin(): Promise<void>
  add(table: string, rows: readonly CopiedRow[]): Promise<void>
  end(): Promise<void>
}

/** What a catalogue spells differently in SQLite and in PostgreSQL. */
export interface CatalogueDialect {
  readonly texts: {
    matchTexts(table: TextTable, query: TextQuery, selectivity: Selectivity): Condition
    rowInserter(table: TextTable, columns: readonly string[]): RowInserter
    replaceTexts(to: RowTarget, table: TextTable, key: number, texts: readonly string[]): void
    deleteTexts(connection: Connection, table: TextTable, keys: readonly number[]): Promise<void>
  }
  readonly search: {
    peoplePath(text: TextQuery | undefined, staff: EstimatedCondition | undefined): PeoplePath
    distinctEngagers(engaged: string): string
    firstTitles(query: TextQuery, limit: number): Condition
    hasIndexes(connection: Connection, names: readonly string[]): Promise<boolean>
  }
  readonly similarity: {
    selectSimilar(condition: string, scale: SimilarityScale): string
  }
  readonly load: {
    readonly maxIndexedBytes: number | undefined
    readonly isRemote: boolean
    hasDeferredIndexes(connection: Connection): boolean
    deferIndexes(connection: Connection, tables: readonly string[]): void
    buildIndexesOn(connection: Connection, table: string, column: string): void
    countForeignWrites(
      connection: Connection,
      own: { transactions: number } | undefined,
    ): Awaitable<number | undefined>
    endLoad(driver: Driver, loaded: Loaded | undefined): Promise<void>
    forgetDeletedRows(driver: Driver, tables: readonly string[]): Promise<void>
    beginBulkWrites(driver: Driver): Promise<BulkSettings>
  }
  readonly copy: {
    /** Keeps the server from ending a transaction that waits for the other side of the copy. */
    waitLonger(connection: Connection): Promise<void>
    createTarget(connection: Connection, tables: Readonly<Record<string, CopiedTable>>): CopyTarget
  }
}

const dialects: Readonly<Record<Connection['dialect']['name'], CatalogueDialect>> = {
  sqlite: {
    texts: sqliteTexts,
    search: sqliteSearch,
    similarity: sqliteSimilarity,
    load: sqliteLoad,
    copy: sqliteCopy,
  },
  postgres: {
    texts: postgresTexts,
    search: postgresSearch,
    similarity: postgresSimilarity,
    load: postgresLoad,
    copy: postgresCopy,
  },
}

/** Returns the dialect of a database. */
export const dialectOf = ({ dialect }: Pick<Connection, 'dialect'>): CatalogueDialect =>
  dialects[dialect.name]

/** Makes something in both dialects beforehand; returns a function that picks the one of a database. */
export function inEachDialect<T>(
  make: (dialect: CatalogueDialect) => T,
): (of: Pick<Connection, 'dialect'>) => T {
  const made = { sqlite: make(dialects.sqlite), postgres: make(dialects.postgres) }
  return ({ dialect }) => made[dialect.name]
}
