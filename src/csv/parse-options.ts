/** How a text is split into rows. */
export interface ParseOptions {
  readonly delimiter: string
  /** Line of the file that the text begins on. */
  readonly firstLine: number
  /** Takes a quote within an unquoted cell as it is. */
  readonly looseQuotes?: boolean | undefined
  /** Longest row in bytes. */
  readonly limit: number
}
