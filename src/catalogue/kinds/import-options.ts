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
