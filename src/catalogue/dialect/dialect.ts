import type { CompanyFilters } from '../../api/ports/ports.js'
import type { Connection, Driver, MadeColumns, Value } from '../../storage/driver/connection.js'
import type { FacetColumns } from '../full-text/facets.js'
import type {
  Condition,
  EstimatedCondition,
  Selectivity,
  TextQuery,
  TextTable,
} from '../full-text/keyword.js'

export type RowInserter = (
  connection: Connection,
  key: number,
  values: readonly Value[],
  texts: readonly string[],
) => void

/** A row with the texts that it is found by. */
export type TextRow = { readonly key: number; readonly texts: readonly string[] } & FacetColumns

/** Where a search of companies begins. */
export interface CompaniesPath {
  /** What is read first, where that is not `companies`, which has the columns that filters ask. */
  readonly from: string
  readonly companies: string
  readonly key: string
  readonly conditions: readonly Condition[]
  /** Where companies come in the order of their keys: those of known headcount, and the others behind a key. */
  readonly byHeadcount?: { readonly known: Condition; behind(key: number): Condition }
}

/** Where a search of people begins. */
interface PeoplePath {
  /** The column of their keys, which the matches are ordered by. */
  readonly key: string
  readonly from: string
  readonly conditions: readonly Condition[]
  /** Whether all matches are known before the first one is answered, so that counting them is free. */
  readonly isCounted?: boolean
}

/** What a catalogue spells differently in SQLite and in PostgreSQL. */
export interface CatalogueDialect {
  readonly texts: {
    matchTexts(table: TextTable, query: TextQuery, selectivity: Selectivity): Condition
    /** Returns a function that inserts a row with its texts; values come in the order of the columns. */
    createRowInserter(table: TextTable, columns: readonly string[]): RowInserter
    /** Replaces the texts of a row, which has all its columns. */
    replaceTexts(connection: Connection, table: TextTable, row: TextRow): void
    /** Deletes the texts that rows are found by, where they are not a column of the row. */
    deleteTexts(connection: Connection, table: TextTable, keys: readonly number[]): Promise<void>
  }
  readonly search: {
    companiesPath(text: TextQuery | undefined, filters: CompanyFilters): CompaniesPath
    peoplePath(text: TextQuery | undefined, staff: EstimatedCondition | undefined): PeoplePath
    /** Returns a query for the titles of the first people, by key, whose texts fulfil a query. */
    firstTitles(query: TextQuery, limit: number): Condition
    /** Whether an index has the names of companies in the order of their code points. */
    readonly hasOrderedNames: boolean
  }
  readonly load: {
    /** Gives the connection more memory; until `end`, commits are not durable one by one. Absent where other machines share it. */
    begin?(driver: Driver): Promise<void>
    /**
     * Drops the indexes of an empty table, which take less time and room when they are made at once, and returns the statements
     * that make them again. Absent where other machines share the database.
     */
    dropIndexes?(connection: Connection, table: string): Promise<string[]>
    end(driver: Driver, tables: readonly string[]): Promise<void>
    /** Removes what the database remembers of deleted rows. */
    forgetDeletedRows(driver: Driver, tables: readonly string[]): Promise<void>
  }
  /** Returns what rows of a table are found by when they have moved here; `textsOf` returns the texts of a record. */
  moved(table: TextTable, textsOf: (record: string) => readonly string[]): MadeColumns
}
