import type { Command } from 'commander'
import type { TargetRefusal } from '../../../batch/ports.js'
import type { LimitsReport } from '../../../engine/admin/limits.js'
import type { Context, GlobalOptions, TargetContext } from '../../context/context.js'
import { exits } from '../../context/errors.js'
import { refuse } from '../../operation/run-sync.js'
import { isoTime } from '../../options/time-values.js'
import type { Invocation, Shell } from '../../shell/shell.js'
import { guide } from '../../shell/shell.js'
import { isRefused, serverLimits } from './remote.js'
import type { Limits } from './result.js'
import { limitsView } from './view.js'

const columns = ['operation', 'group', 'live', 'per', 'limit', 'used', 'remaining', 'resets_at']

/** `prospect limits`: what is left of everything that can run out, and when there is more. */
export function limitsCommand(shell: Shell): Command {
  const command = shell.command('limits', 'What is left of credits, quotas and requests, and when it resets')
  guide(
    command,
    ['limits', 'limits --json --fields plan,weekly', 'limits -o windows.csv'],
    'It only looks: asking counts in no window. A list format (csv, tsv, ndjson) has the windows of requests.',
  )
  return shell.action(command, (invocation) => show(shell, invocation))
}

async function show(shell: Shell, invocation: Invocation): Promise<number> {
  const { context } = shell
  const { globals } = invocation
  const found = await limitsOf(context, globals)
  if (isRefused(found)) return refuse(shell, found.operation, found.reply, invocation)
  if (!context.isLocal(globals)) context.notify(untold(found), globals)
  await shell.print(found, globals, { layout: limitsView, columns })
  return exits.ok
}

/** What a server does not say of limits. */
const untold = ({ windows }: Limits): string =>
  windows.length === 0
    ? 'What is left of the windows of requests is known to the server only; its weekly limit and resets too.'
    : 'Requests are those that this machine knows of. A weekly limit, and when quotas reset, is known to the server only.'

/** What is left of everything that can run out at a target. */
export const limitsOf = (context: Context, globals: GlobalOptions): Promise<Limits | TargetRefusal> =>
  context.isLocal(globals) ? localLimits(context, globals) : serverLimits(context, globals)

async function localLimits(context: TargetContext, globals: GlobalOptions): Promise<Limits> {
  const apiKey = await context.apiKey(globals)
  const admin = await context.admin({ ...globals, create: false })
  return printable(await admin.limits(apiKey))
}

function printable({ plan, credits, weekly, quotas, windows }: LimitsReport): Limits {
  const { enrichment, held, nextAllocation } = credits
  return {
    plan,
    credits: {
      enrichment,
      held,
      next_allocation: { credits: nextAllocation.credits, at: isoTime(nextAllocation.at) },
    },
    weekly: weekly && timed(weekly),
    quotas: Object.fromEntries(Object.entries(quotas).map(([name, quota]) => [name, timed(quota)])),
    windows: windows.map(({ resetsAt, ...window }) => ({
      ...window,
      resets_at: resetsAt === null ? null : isoTime(resetsAt),
    })),
  }
}

const timed = <T extends { readonly resetsAt: number }>({ resetsAt, ...rest }: T) => ({
  ...rest,
  resets_at: isoTime(resetsAt),
})
