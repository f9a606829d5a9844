import { rm } from 'node:fs/promises'
import type { Command } from 'commander'
import { ApiError } from '../../../api/calls/errors.js'
import { holdRun, openRuns, runFolder } from '../../../batch/run/records.js'
import { toRunHome } from '../../batch/ports.js'
import type { Context } from '../../context/context.js'
import { type CommandEnvironment, guide } from '../../options/command-environment.js'
import { contextOfRuns, sharedOptions } from '../../options/databases.js'
import { knownRun } from './known-run.js'

/** `prospect runs forget ID…`: takes runs off the record. */
export function forgetRun(environment: CommandEnvironment): Command {
  const command = environment
    .command('forget', 'Forget runs: they can no longer be resumed; what they paid for stays in the store')
    .argument('<id...>', 'ids of the runs, or their beginnings, as runs list shows them')
  sharedOptions(command)
  guide(command, ['runs forget 7f6f2d0e'], 'Their answers are still taken by a batch with --max-age.')
  return environment.action(command, async ({ args, options, globals }) => {
    const { context, place } = contextOfRuns(environment.context, options)
    const { runs, locks, now } = await openRuns(toRunHome(context), place)
    const { mayStillSend } = await import('../../../storage/state/runs/lost-runs.js')
    const held = new Set<string>()
    for (const id of args) {
      const run = await knownRun(runs, id)
      // Runs of the same command have one lock, which this command may have already.
      if (!held.has(run.knownBy)) await holdRun(context, locks, run.knownBy, `Run ${run.id}`)
      held.add(run.knownBy)
      const { lostAt } = (await runs.find(run.id))[0] ?? run
      await runs.forget(run, now())
      // A later batch drops them when no process is left that could pay for a row again.
      if (!mayStillSend({ lostAt }, now())) await forgetReplies(context, run.target, run.id)
      await rm(runFolder(context, run.id), { recursive: true, force: true })
      context.notify(`Run ${run.id} is forgotten.`, globals)
    }
    return 0
  })
}

/** What the local engine keeps for the run has served. */
async function forgetReplies(context: Context, target: string, run: string): Promise<void> {
  if (!/^local(?: |$)/.test(target)) return
  const options = { local: true }
  const caller = await context.caller(options)
  try {
    await caller.discardReplies?.(run, Number.MAX_SAFE_INTEGER, { apiKey: await context.apiKey(options) })
  } catch (error) {
    // Without a key for that workspace a few replies stay there unused.
    if (!(error instanceof ApiError)) throw error
  }
}
