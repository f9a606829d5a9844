import { CsvError } from '../../csv/errors.js'

/** A line that was not taken, and why. */
export interface Rejected {
  /** Line in the file where the record begins, counted from 1; for records without a file, their number. */
  readonly line: number
  readonly reason: string
}

/** What an import did. */
export interface ImportReport {
  readonly added: number
  readonly updated: number
  /** Companies created because people or jobs named a domain or profile url nobody had yet. */
  readonly companies: number
  /** The first of them; `rejectedTotal` counts all. */
  readonly rejected: readonly Rejected[]
  readonly rejectedTotal: number
  /** Which column was read as which field; empty for records that carry field names. */
  readonly mapping: Readonly<Record<string, string>>
  /** Columns that were left aside. */
  readonly ignored: readonly string[]
}

/** A report in the making. */
export interface Tally {
  added: number
  updated: number
  companies: number
  rejected: Rejected[]
  rejectedTotal: number
}

/** A report of nothing yet. */
export const newTally = (): Tally => ({ added: 0, updated: 0, companies: 0, rejected: [], rejectedTotal: 0 })

/** Rejected lines kept in a report. */
const rejectsKept = 1_000

/** Counts a rejected line, and keeps it while there is room. */
export function reject(tally: Tally, rejected: Rejected): void {
  tally.rejectedTotal += 1
  if (tally.rejected.length < rejectsKept) tally.rejected.push(rejected)
}

/** A file that cannot be read on: what is wrong, where, and what was kept until then. A mistake of usage. */
export class ImportError extends Error {
  /** What is wrong, without the line. */
  readonly sentence: string
  readonly line: number | undefined
  /** What had been imported before; set by the import. */
  report: ImportReport | undefined

  constructor(sentence: string, line?: number) {
    super(line === undefined ? sentence : `Line ${line}: ${sentence}`)
    this.name = 'ImportError'
    this.sentence = sentence
    this.line = line
  }
}

/** What went wrong, as an ImportError where the text or the table of a file could not be read. */
export const importErrorOf = (error: unknown): unknown =>
  error instanceof CsvError ? new ImportError(error.sentence, error.line) : error
