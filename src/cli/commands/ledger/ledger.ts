import { type Command, Option } from 'commander'
import type { Spent } from '../../../storage/state/runs/spending.js'
import { openSpending } from '../../operation/record-spending.js'
import { type CommandEnvironment, guide, type Invocation } from '../../options/command-environment.js'
import { placeOf, sharedOptions } from '../../options/databases.js'
import { checkCommand, dayOptions, daysOf } from './check.js'

/** What spending can be summed by. */
const bys = ['run', 'day', 'operation', 'profile'] as const
type By = (typeof bys)[number]

/** `prospect ledger`: what the commands of this machine spent, on any target. */
export function ledgerCommand(environment: CommandEnvironment): Command {
  const command = environment.command('ledger', 'What the commands of this machine spent, on any target')
  sharedOptions(dayOptions(command)).addOption(
    new Option('--by <what>', 'sum it by run | day | operation | profile').choices(bys),
  )
  guide(
    command,
    ['ledger', 'ledger --by operation --from 2026-01-01', 'ledger --by run -o runs.csv', 'ledger check'],
    'Days are UTC. What others spend of the same credits is not in it: prospect ledger check compares.',
  )
  environment.action(command, (invocation) => show(environment, invocation))
  return command.addCommand(checkCommand(environment))
}

async function show(
  { context, print }: CommandEnvironment,
  { options, globals }: Invocation,
): Promise<number> {
  const by = options.by as By | undefined
  const spending = await openSpending(context, placeOf(context, options))
  const spent = await spending.list({ ...daysOf(options), profile: globals.profile })
  const columns = ['calls', 'credits']
  if (by) await print(summed(spent, by), globals, { columns: [by, ...columns] })
  else await print(spent, globals, { columns: ['day', 'profile', 'target', 'operation', 'run', ...columns] })
  return 0
}

/** Sums by one key, in the order in which the keys first occur; single calls are of no run. */
function summed(spent: readonly Spent[], by: By): readonly Readonly<Record<string, unknown>>[] {
  const sums = new Map<string | null, { calls: number; credits: number }>()
  for (const one of spent) {
    const { calls, credits } = sums.get(one[by]) ?? { calls: 0, credits: 0 }
    sums.set(one[by], { calls: calls + one.calls, credits: credits + one.credits })
  }
  return [...sums].map(([key, sum]) => ({ [by]: key, ...sum }))
}
