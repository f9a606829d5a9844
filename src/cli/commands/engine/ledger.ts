import { exitCodes } from '../../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import { groupings } from '../../../engine/credits/ledger.js'
import type { Context } from '../../context/context.js'
import { Stop } from '../../context/errors.js'
import { openAdmin } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { listOf, rangeOptions, readTimes } from '../../options/values.js'
import { print, printRecords } from '../../output/print.js'
import { memberNamed } from './members.js'

/** `prospect engine ledger`: every movement of credits, or what was consumed; and the check that it adds up. */
export const ledgerCommand: CommandFactory = (environment) =>
  environment
    .command('ledger', 'Ledger entries, oldest first; with --by, the credits consumed')
    .withOptions(options)
    .reads('engine')
    .run(showLedger)
    .addCommand(verifyLedger(environment))

const options = optionRows({
  by: [
    '<what,…>',
    `sum what was consumed by ${groupings.join(' | ')}, or several: member,day`,
    listOf(groupings),
  ],
  ...rangeOptions,
  member: ['<member>', 'only what this member did: an email address, or an id of members list'],
})

async function showLedger(
  context: Context,
  { options: given }: Invocation<OptionsOf<typeof options>>,
): Promise<number> {
  const { by } = given
  const admin = await openAdmin(context)
  const { since: from, until: to } = readTimes(given, (await admin.clock()).now)
  const member = given.member === undefined ? undefined : await memberNamed(admin, given.member)
  const range = withoutUndefined({ from, to, member })
  if (by) {
    const sums = await admin.consumption(range, by)
    const sumOf = (name: 'credits' | 'movements') => sums.reduce((sum, one) => sum + one[name], 0)
    const total = { credits: sumOf('credits'), movements: sumOf('movements') }
    await print(context, sums, { columns: [...by, 'credits', 'movements'], total })
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
