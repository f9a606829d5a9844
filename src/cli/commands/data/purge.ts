import type { Command } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { lockOfDead, removeLeftovers } from '../../../batch/run/records.js'
import type { Clock } from '../../../engine/ports/ports.js'
import type { Driver } from '../../../storage/driver/connection.js'
import type { PurgedRuns } from '../../../storage/state/runs/purge.js'
import type { Context } from '../../context/context.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'
import { guide } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { durationMs } from '../../options/values.js'
import { canAsk, confirmLoss } from '../../output/prompt.js'
import { grouped } from '../../output/text.js'
import { openRecords, type RecordsOnDisk, type RunsOnRecord, rewriteAll } from './records-on-disk.js'

/** `prospect data purge`: deletes work, runs and received events that are too old. */
export function purgeCommand(environment: CommandEnvironment): Command {
  const command = environment
    .command('purge', 'Delete finished work, runs and received events that are too old')
    .requiredOption('--older-than <duration>', 'older than this, such as 90d', durationMs)
    .addOption(catalogueOption())
  guide(
    command,
    ['data purge --older-than 90d', 'data purge --older-than 12h --yes'],
    'Work that is under way or not delivered stays, and so do lists, the catalogue, the ledger and what was spent.\n' +
      "Work ages by the engine's clock, runs that machines share by that of their database, the others and events by this\n" +
      "machine's.",
  )
  return environment.action(command, (invocation) => purge(environment, invocation))
}

async function purge(environment: CommandEnvironment, { options, globals }: Invocation): Promise<number> {
  const context = withCatalogueOption(environment.context, options)
  const { olderThan } = options as { olderThan: number }
  if (canAsk(context, globals))
    await confirmLoss(context, 'This deletes old work, runs and received events for good.', globals)
  const records = await openRecords(context, false)
  const purged = await purgeAll(context, records, olderThan).finally(records.close)
  const { remaining } = await rewriteAll(context)
  await environment.print(purged, globals, { layout: () => summary(purged) })
  if (remaining.length > 0)
    context.notify(
      `Another process uses ${remaining.join(' and ')}: its space is not given back yet.`,
      globals,
    )
  return exitCodes.ok
}

async function purgeAll(
  context: Context,
  { store, state, runs: places }: RecordsOnDisk,
  olderThanMs: number,
) {
  const { clock } = context
  const { purgeWork, purgeRunReplies } = await import('../../../engine/admin/purge.js')
  const { eventsOver } = await import('../../../storage/state/webhook-inbox.js')
  const before = clock.now() - olderThanMs
  const purged: PurgedRuns[] = []
  for (const place of places) purged.push(await purgeRunsOf(place, olderThanMs, clock))
  const runs = purged.flatMap((each) => each.runs)
  const answers = purged.reduce((count, each) => count + each.answers, 0)
  if (state) await removeLeftovers(context, await idsOfRuns(state))
  const events = state ? await eventsOver(state).purge(before, clock.now()) : 0
  const work = store ? await purgeWork(store, clock, olderThanMs) : undefined
  const replies = store ? await purgeRunReplies(store, runs) : 0
  return {
    jobs: work?.jobs ?? 0,
    records: work?.records ?? 0,
    contacts: work?.contacts ?? 0,
    deliveries: work?.deliveries ?? 0,
    replies: (work?.replies ?? 0) + replies,
    runs: runs.length,
    answers,
    events,
  }
}

async function purgeRunsOf(
  { database, locks }: RunsOnRecord,
  olderThanMs: number,
  clock: Clock,
): Promise<PurgedRuns> {
  const { purgeRuns } = await import('../../../storage/state/runs/purge.js')
  const { stopKilled } = await import('../../../storage/state/runs/lost-runs.js')
  await stopKilled(database, ({ knownBy }) => lockOfDead(locks, knownBy))
  const now = clock.now() + (database.aheadMs?.() ?? 0)
  const before = now - olderThanMs
  return await purgeRuns(database, { before, now, hold: ({ knownBy }) => locks.take(knownBy) })
}

async function idsOfRuns(state: Driver): Promise<ReadonlySet<string>> {
  const { runsOver } = await import('../../../storage/state/runs/runs.js')
  return new Set((await runsOver(state).list()).map(({ id }) => id))
}

const summary = (purged: Readonly<Record<string, number>>): string => {
  const counts = Object.entries(purged).filter(([, count]) => count > 0)
  if (counts.length === 0) return 'Nothing is that old.\n'
  return `Deleted ${counts.map(([what, count]) => `${grouped(count)} ${what}`).join(', ')}.\n`
}
