import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { parseJson } from '../../api/values/json.js'
import type { Results } from '../../batch/plan/quote.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { Job } from './job.js'

/** Fields that a price depends on: results of other values say nothing about a row. */
const pricing = ['enrichment_type', 'limit'] as const

/** What this machine's lookups with the same price have cost on the target. */
export async function ownResults(
  database: Driver,
  { operation, constants }: Pick<Job, 'operation' | 'constants'>,
  target: string,
): Promise<Results> {
  const { resultsOfRuns } = await import('../../storage/state/runs/cost-average.js')
  const runs = await database.read((connection) => resultsOfRuns(connection, operation.id, target))
  const same = runs.filter(({ request }) => {
    const { constants: theirs = {} } = parseJson(request) as { readonly constants?: Input }
    return pricing.every((field) => JSON.stringify(theirs[field]) === JSON.stringify(constants[field]))
  })
  return {
    credits: same.reduce((sum, { credits }) => sum + credits, 0),
    answers: same.reduce((sum, { answers }) => sum + answers, 0),
  }
}

/** The share of the maximum that is expected where there are no results yet: few companies have as many jobs as are asked for. */
export const defaultShareOf = ({ price }: Operation): number => (price.job === undefined ? 0.5 : 0.1)
