import { type Counting, countRows } from '../../batch/count.js'
import { type Counted, fundsOf, type Means, type Quote, quoteOf } from '../../batch/quote.js'
import type { Refused } from '../commands/limits-remote.js'
import type { Asked } from './kept.js'
import { askedJournal, budgetOf } from './kept.js'
import { leftOf } from './left.js'
import { defaultShareOf, ownResults } from './results.js'

/** The rows of a batch that has not begun. */
export type Rows = Omit<Counting, 'journal' | 'isNew' | 'funds'>

/** Makes the quote of a batch; only free questions are sent. A target that does not accept the key refuses. */
export async function makeQuote(asked: Asked, rows: Rows): Promise<Quote | Refused> {
  const { job, records, identity } = asked
  const left = await leftOf(job.shell.context, job.operation, job.constants, job.globals)
  if ('reply' in left) return left
  const means: Means = { ...left.means, budget: await budgetOf(asked) }
  const journal = await askedJournal(asked)
  const counted = await counting(rows, journal, fundsOf(means))
  const results = await ownResults(records.database, job, identity.target)
  return quoteOf({
    counted,
    results,
    means,
    windows: left.windows,
    defaultShare: defaultShareOf(job.operation),
  })
}

async function counting(rows: Rows, journal: Counting['journal'], funds: number): Promise<Counted> {
  const { openFirstSeen } = await import('../../storage/first-seen.js')
  const seen = openFirstSeen()
  try {
    return await countRows({ ...rows, journal, funds, isNew: seen.isNew })
  } finally {
    seen.close()
  }
}
