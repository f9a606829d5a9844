import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { durationMs } from '../../options/values.js'
import { print } from '../../output/output.js'
import { canAsk, confirmLoss } from '../../output/prompt.js'
import { formatNumber } from '../../output/text.js'
import { type ExistingDatabases, openExisting, rewriteFiles } from './databases.js'

/** `prospect data purge`: deletes work, runs and received events that are too old. */
export const purgeCommand: CommandFactory = ({ command }) =>
  command('purge', 'Delete old finished jobs, runs and received events')
    .requiredOption('--older-than <duration>', 'older than this, such as 90d', durationMs)
    .addOption(catalogueOption())
    .run(purge)

async function purge(outer: Context, { options }: Invocation): Promise<number> {
  const context = withCatalogueOption(outer, options)
  const { olderThan } = options as { olderThan: number }
  if (canAsk(context))
    await confirmLoss(context, 'This permanently deletes old jobs, runs and received events.')
  const databases = await openExisting(context)
  const purged = await purgeAll(context, databases, olderThan).finally(databases.close)
  const { remaining } = await rewriteFiles(context)
  await print(context, purged, { layout: () => formatSummary(purged) })
  if (remaining.length > 0)
    context.notify(
      `Another process uses ${remaining.join(' and ')}: its disk space is not free yet. Run the same command again later.`,
    )
  return exitCodes.ok
}

async function purgeAll(context: Context, { engine, state, runs }: ExistingDatabases, olderThanMs: number) {
  const { clock } = context
  const { purgeOldRuns } = await import('../../../runs/purge.js')
  const { purgeWork, purgeRunReplies } = await import('../../../engine/admin/purge.js')
  const { eventsOver } = await import('../../../storage/state/webhook-inbox.js')
  const now = clock.now()
  const purged = await purgeOldRuns(context, runs, olderThanMs)
  const events = state ? await eventsOver(state).purge(now - olderThanMs, now) : 0
  const work = engine
    ? await purgeWork(engine, clock, olderThanMs)
    : { jobs: 0, records: 0, contacts: 0, deliveries: 0, replies: 0 }
  const replies = work.replies + (engine ? await purgeRunReplies(engine, purged.runs) : 0)
  return { ...work, replies, runs: purged.runs.length, answers: purged.answers, events }
}

const formatSummary = (purged: Readonly<Record<string, number>>): string => {
  const counts = Object.entries(purged).filter(([, count]) => count > 0)
  if (counts.length === 0) return 'Nothing is that old.\n'
  return `Deleted ${counts.map(([what, count]) => `${formatNumber(count)} ${what}`).join(', ')}.\n`
}
