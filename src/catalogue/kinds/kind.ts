import type { Note } from '../../api/calls/errors.js'
import type { Awaitable, Fields } from '../../api/values/objects.js'
import type { Encoding } from '../../csv/detect-encoding.js'
import type { FooterCounter } from '../../csv/footer.js'
import type { LeftOutValue } from '../../csv/names.js'
import type { UncalculatedColumn } from '../../csv/uncalculated.js'
import type { OpenReading } from '../open-data/read.js'

export const kinds = ['companies', 'people', 'jobs', 'posts'] as const

export type RecordKind = (typeof kinds)[number]

export interface ImportOptions {
  /** Column of each field; takes precedence over what the header suggests. */
  readonly map?: Readonly<Record<string, string>>
  /** Recognised from the first character by default. */
  readonly format?: 'csv' | 'ndjson'
  /** Name of the text encoding, such as `windows-1252`. By default it is detected. */
  readonly encoding?: string
  /** The file is a sheet of a workbook, converted to CSV. */
  readonly isSheet?: boolean
  readonly uncalculated?: readonly UncalculatedColumn[]
  /** Lines above the header of a CSV file. By default they are recognised. */
  readonly skipLines?: number
  /** False where the first row of a CSV file is data; recognised when absent. */
  readonly header?: boolean
  /** The set of open data that a file of companies is of; recognised by its header by default. `own` is none. */
  readonly source?: string
  /** The day of the snapshot of open data. */
  readonly snapshot?: string
  /** Whether companies are added of which open data has neither domain nor profile; by default known ones are completed. */
  readonly create?: boolean
  /** Whether a record is wanted, as it would be stored. Companies have every key then. */
  readonly where?: (record: Fields) => boolean
  /** Returns records with null in place of those about people and companies that are suppressed. */
  readonly withoutSuppressed?: (records: readonly unknown[]) => Promise<readonly unknown[]>
  /** Called after each commit with the number of records processed so far. */
  readonly onProgress?: (done: number) => void
  /** Whether rejected rows come with their cells. */
  readonly keepsRows?: boolean
  /** Called with rejected rows in their order, after the valid ones around them are written. */
  readonly onRejected?: (
    rows: readonly RejectedRecord[],
    original: OriginalFile | undefined,
  ) => Awaitable<void>
}

/** How a CSV file is written, so that its rejected rows can be written and read in the same way. */
export interface OriginalFile {
  readonly header: readonly string[]
  readonly encoding: string
  readonly hasMark: boolean
  readonly delimiter: string
  readonly preamble: string
}

export interface RejectedRecord {
  /** Line of the file where the record begins, counted from 1; the record's number when there is no file. */
  readonly line: number
  readonly reason: string
  /** Its cells, where they are kept; of a JSON file, its text alone. */
  readonly cells?: readonly string[]
}

/** A record of a file, or why it is rejected. `line` is where it begins, counted from 1. */
export type InputRow = { readonly line: number; readonly cells?: readonly string[] } & (
  | { readonly raw: Fields; readonly leftOut?: readonly LeftOutValue[] }
  | { readonly reason: string }
)

/** The rows of a file in batches, and which column was read as which field. */
export interface InputRows {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  /** The first value of each field's column. */
  readonly samples?: Readonly<Record<string, string>>
  /** The encoding of a CSV file that was recognised by its letters, with a value that has such letters. */
  readonly encoding?: Pick<Encoding, 'label' | 'sample'> | undefined
  /** What a person should know about the choice of columns. */
  readonly notes?: readonly Note[]
  /** The rows below the records of a CSV file, as far as it is read. */
  readonly footer?: FooterCounter
  /** The set of open data that the file is of, once that is known. */
  readonly openData?: { reading: OpenReading | undefined }
  /** Columns of a sheet with formulas that have no stored value. */
  readonly uncalculated?: readonly UncalculatedColumn[]
  /** Absent where the file is not CSV. */
  readonly original?: OriginalFile | undefined
  readonly batches: AsyncIterable<readonly InputRow[]>
}

/** The columns of a file: those seen so far, where records have keys instead. */
export type FileColumns = Omit<InputRows, 'batches'>

/** The row of a record: its key, and its JSON without absent fields. */
export interface StoredRecord {
  readonly key: number
  readonly record: string
}
