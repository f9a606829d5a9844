import {
  type Counted,
  type Counting,
  countRows,
  fundsOf,
  type Means,
  type Quote,
  quoteOf,
} from '../../batch/plan/quote.js'
import type { Refused } from '../commands/limits/remote.js'
import { startProgress } from '../output/progress.js'
import { grouped } from '../output/terminal.js'
import { leftOf } from '../quote/remaining.js'
import { defaultShareOf, ownResults } from './hit-rate.js'
import { type Asked, askedJournal, budgetOf } from './quote-journal.js'

/** The rows of a batch that has not begun. */
export type Rows = Omit<Counting, 'journal' | 'isNew' | 'funds' | 'onCounted'>

/** Makes the quote of a batch; only free questions are sent. A target that does not accept the key refuses. */
export async function makeQuote(asked: Asked, rows: Rows): Promise<Quote | Refused> {
  const { job, records, identity } = asked
  const { globals } = job
  const { context } = job.shell
  const left = await leftOf(context, job.operation, job.constants, globals)
  if ('reply' in left) return left
  const means: Means = { ...left.means, budget: await budgetOf(asked) }
  const journal = await askedJournal(asked)
  const progress = await startProgress(context, globals, ({ rows }) => `${grouped(rows)} rows counted`)
  const onCounted = (rows: number) => progress.update({ rows, found: 0, credits: 0, total: undefined })
  const found = await counted({ ...rows, journal, funds: fundsOf(means), onCounted }).finally(() =>
    progress.stop(),
  )
  const results = await ownResults(records.database, job, identity.target)
  return quoteOf({
    counted: found,
    results,
    means,
    windows: left.windows,
    defaultShare: defaultShareOf(job.operation),
  })
}

async function counted(counting: Omit<Counting, 'isNew'>): Promise<Counted> {
  const { openFirstSeen } = await import('../../storage/state/runs/seen-on-disk.js')
  const seen = openFirstSeen()
  try {
    return await countRows({ ...counting, isNew: seen.isNew })
  } finally {
    seen.close()
  }
}
