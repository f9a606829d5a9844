import { CsvError, type Reading } from '../../csv/errors.js'
import type { LeftOutValues } from '../../csv/names.js'
import type { FileColumns, RejectedRecord } from '../kinds/kind.js'

/** The result of an import, or what it would be. */
export interface ImportReport extends Pick<FileColumns, 'mapping' | 'ignored' | 'samples'> {
  readonly added: number
  readonly updated: number
  /** Those of the updated records that are as they were. */
  readonly unchanged: number
  /** Companies created because people or jobs named a domain or profile url that no company had. */
  readonly companies: number
  /** The first rejected lines; `rejectedTotal` counts all. */
  readonly rejected: readonly RejectedRecord[]
  readonly rejectedTotal: number
  /** Values that records are without, because they were not understood. */
  readonly leftOut: readonly LeftOutValues[]
}

/** Creates the counts of a report, with which an import begins. */
export const createTally = () => ({
  added: 0,
  updated: 0,
  unchanged: 0,
  companies: 0,
  rejected: [] as RejectedRecord[],
  rejectedTotal: 0,
})

/** The counts of a report that is not complete yet. */
export type ImportTally = ReturnType<typeof createTally>

/** Maximum number of rejected lines in a report. */
const maxRejectedKept = 1_000

/** Counts a rejected line, and adds it to the report up to the maximum. */
export function addRejected(tally: ImportTally, { line, reason }: RejectedRecord): void {
  tally.rejectedTotal += 1
  if (tally.rejected.length < maxRejectedKept) tally.rejected.push({ line, reason })
}

/** A file that cannot be read to its end; a usage error. */
export class ImportError extends Error {
  /** The message without the line. */
  readonly problem: string
  readonly line: number | undefined
  /** What was imported before the error; set by the import. */
  report: ImportReport | undefined

  constructor(
    problem: string,
    line?: number,
    /** The encodings that the file may have, where that is all that is wrong. */
    readonly readings?: readonly Reading[],
  ) {
    super(line === undefined ? problem : `Line ${line}: ${problem}`)
    this.name = 'ImportError'
    this.problem = problem
    this.line = line
  }
}

/** Converts an error in a file's encoding or CSV syntax to an ImportError; returns other errors as they are. */
export const toImportError = (error: unknown): unknown =>
  error instanceof CsvError ? new ImportError(error.problem, error.line, error.readings) : error
