import { CsvError } from '../../csv/errors.js'

/** A rejected line and the reason. */
export interface Rejected {
  /** Line of the file where the record begins, counted from 1; the record's number when there is no file. */
  readonly line: number
  readonly reason: string
}

/** The result of an import. */
export interface ImportReport {
  readonly added: number
  readonly updated: number
  /** Companies created because people or jobs named a domain or profile url that no company had. */
  readonly companies: number
  /** The first rejected lines; `rejectedTotal` counts all. */
  readonly rejected: readonly Rejected[]
  readonly rejectedTotal: number
  /** Column by field; empty for records that carry field names. */
  readonly mapping: Readonly<Record<string, string>>
  /** Columns that were not read. */
  readonly ignored: readonly string[]
}

/** Creates the counts of a report, with which an import begins. */
export const createTally = () => ({
  added: 0,
  updated: 0,
  companies: 0,
  rejected: [] as Rejected[],
  rejectedTotal: 0,
})

/** The counts of a report that is not complete yet. */
export type ImportTally = ReturnType<typeof createTally>

/** Maximum number of rejected lines in a report. */
const maxRejectedKept = 1_000

/** Counts a rejected line, and adds it to the report up to the maximum. */
export function addRejected(tally: ImportTally, rejected: Rejected): void {
  tally.rejectedTotal += 1
  if (tally.rejected.length < maxRejectedKept) tally.rejected.push(rejected)
}

/** A file that cannot be read to its end; a usage error. */
export class ImportError extends Error {
  /** The message without the line. */
  readonly problem: string
  readonly line: number | undefined
  /** What was imported before the error; set by the import. */
  report: ImportReport | undefined

  constructor(problem: string, line?: number) {
    super(line === undefined ? problem : `Line ${line}: ${problem}`)
    this.name = 'ImportError'
    this.problem = problem
    this.line = line
  }
}

/** Converts an error in a file's encoding or CSV syntax to an ImportError; returns other errors as they are. */
export const toImportError = (error: unknown): unknown =>
  error instanceof CsvError ? new ImportError(error.problem, error.line) : error
