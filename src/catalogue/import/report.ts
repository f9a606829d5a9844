import type { LeftOutValues } from '../../csv/names.js'
import type { FileColumns, RejectedRecord } from '../kinds/kind.js'

export interface ImportReport extends Pick<FileColumns, 'mapping' | 'ignored' | 'samples' | 'encoding'> {
  readonly added: number
  readonly updated: number
  /** Those of the updated records that are as they were. */
  readonly unchanged: number
  /** Companies created because people or jobs named a domain or profile url that no company had. */
  readonly companies: number
  /** Records that were left out because their person or company is suppressed. */
  readonly suppressed: number
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
  suppressed: 0,
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
