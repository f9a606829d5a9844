/** What the catalogue holds and files can bring. */
export const kinds = ['companies', 'people', 'jobs', 'posts'] as const

/** One of the kinds of records. */
export type Kind = (typeof kinds)[number]

/** One record by field name, as a file or the sample gives it; absent values are missing, null or blank. */
export type Given = Readonly<Record<string, unknown>>

/** How a file is to be read. */
export interface ImportOptions {
  /** Field to column, before any header is guessed. */
  readonly map?: Readonly<Record<string, string>>
  /** Recognised from the first character unless given. */
  readonly format?: 'csv' | 'ndjson'
  /** Name of the text encoding, as in `windows-1252`; recognised (UTF-8 and UTF-16) unless given. */
  readonly encoding?: string
  /** Called after each commit with the records done so far. */
  readonly onProgress?: (done: number) => void
}

/** One record of a file, or why it cannot be taken. `line` is where it begins, counted from 1. */
export type Row =
  | { readonly line: number; readonly given: Given }
  | { readonly line: number; readonly reason: string }

/** The rows of a file, as many at a time as come together, and how its columns were understood. */
export interface Rows {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  readonly batches: AsyncIterable<readonly Row[]>
}
