import type { Connection } from '../../driver/connection.js'

/** What the lookups of a run have cost so far. */
export interface RunResults {
  /** What the run asked for, as JSON; `{}` where it was forgotten. */
  readonly request: string
  readonly credits: number
  /** Answers it got from the target. */
  readonly answers: number
}

const sql = `
SELECT r.request, sum(s.credits) AS credits, sum(s.calls) AS answers
FROM spending s JOIN runs r ON r.number = s.run
WHERE s.operation = ? AND s.target = ? GROUP BY r.number`

/** What the runs of an operation on a target have cost, each by itself. */
export async function resultsOfRuns(
  connection: Connection,
  operation: string,
  target: string,
): Promise<readonly RunResults[]> {
  return connection.all<RunResults>(sql, operation, target)
}
