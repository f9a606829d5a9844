import { exitCodes } from '../../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { Grouping } from '../../../engine/admin/report.js'
import type { Context } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { openAdmin } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { endMs, momentMs } from '../../options/values.js'
import { print, printRecords } from '../../output/print.js'

/** `prospect engine ledger`: every movement of credits, or what was consumed; and the check that it adds up. */
export const ledgerCommand: CommandFactory = (environment) =>
  environment
    .command('ledger', 'Ledger entries, oldest first; with --by, the credits consumed')
    .withOptions(options)
    .reads('engine')
    .run(showLedger)
    .addCommand(verifyLedger(environment))

const groupings = ['day', 'operation', 'member'] as const satisfies readonly Grouping[]

const options = optionRows({
  from: ['<time>', 'from this day or time on (UTC, engine time)', momentMs],
  to: ['<time>', 'to this day, included, or up to this time', endMs],
  by: ['<what>', 'sum what was consumed by day | operation | member', groupings],
})

async function showLedger(
  context: Context,
  { options: { from, to, by } }: Invocation<OptionsOf<typeof options>>,
): Promise<number> {
  const range = withoutUndefined({ from, to })
  if (from !== undefined && to !== undefined && from >= to)
    throw new UsageError('--from is not before --to.', 'Swap them.')
  const admin = await openAdmin(context)
  if (by) {
    const sums = await admin.consumption(range, by)
    const records = sums.map(({ by: name, credits, movements }) => ({ [by]: name, credits, movements }))
    await print(context, records, { columns: [by, 'credits', 'movements'] })
    return 0
  }
  await printRecords(context, () => admin.ledger(range), {
    columns: ['created_at', 'kind', 'change', 'credits', 'operation', 'member'],
    now: async () => (await admin.clock()).now,
  })
  return 0
}

const verifyLedger: CommandFactory = ({ command }) =>
  command('verify', 'Recompute every balance; exit 13 when one differs, naming it')
    .reads('engine')
    .run(async (context) => {
      const verdict = await (await openAdmin(context)).verify()
      await print(context, verdict)
      if (verdict.ok) return exitCodes.ok
      const [first = ''] = verdict.problems
      const more = verdict.problems.length - 1
      throw new Stop(
        `The ledger does not add up: ${first}${more > 0 ? `, and ${more} more` : ''}.`,
        exitCodes.checkFailed,
        'Restore a backup: prospect engine restore FILE',
        'ledger_differs',
      )
    })
