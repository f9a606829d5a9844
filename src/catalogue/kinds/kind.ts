/** The kinds of records in a catalogue. */
export const kinds = ['companies', 'people', 'jobs', 'posts'] as const

/** A kind of records. */
export type RecordKind = (typeof kinds)[number]

/** A record by field name, as a file or the sample has it; absent values are missing, null or blank. */
export type RawRecord = Readonly<Record<string, unknown>>

/** How a file is read. */
export interface ImportOptions {
  /** Column of each field; takes precedence over what the header suggests. */
  readonly map?: Readonly<Record<string, string>>
  /** Recognised from the first character by default. */
  readonly format?: 'csv' | 'ndjson'
  /** Name of the text encoding, such as `windows-1252`. By default UTF-8 and UTF-16 are recognised. */
  readonly encoding?: string
  /** The file is a sheet of a workbook, converted to CSV. */
  readonly isSheet?: boolean
  /** Lines above the header of a CSV file. By default they are recognised. */
  readonly skipLines?: number
  /** Called after each commit with the number of records processed so far. */
  readonly onProgress?: (done: number) => void
}

/** A record of a file, or why it is rejected. `line` is where it begins, counted from 1. */
export type InputRow =
  | { readonly line: number; readonly raw: RawRecord }
  | { readonly line: number; readonly reason: string }

/** The rows of a file in batches, and which column was read as which field. */
export interface InputRows {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  readonly batches: AsyncIterable<readonly InputRow[]>
}
