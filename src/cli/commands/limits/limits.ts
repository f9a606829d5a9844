import type { Command } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { refuse } from '../../operation/run-sync.js'
import { type CommandEnvironment, guide, type Invocation } from '../../options/command-environment.js'
import { isRefused, type Limits, limitsOf } from '../../quote/limits.js'
import { limitsView } from './view.js'

const columns = ['operation', 'group', 'live', 'per', 'limit', 'used', 'remaining', 'resets_at']

/** `prospect limits`: what is left of everything that can run out, and when there is more. */
export function limitsCommand(environment: CommandEnvironment): Command {
  const command = environment.command(
    'limits',
    'What is left of credits, quotas and requests, and when it resets',
  )
  guide(
    command,
    ['limits', 'limits --json --fields plan,weekly', 'limits -o windows.csv'],
    'It only looks: asking counts in no window. A list format (csv, tsv, ndjson) has the windows of requests.',
  )
  return environment.action(command, (invocation) => show(environment, invocation))
}

async function show(environment: CommandEnvironment, invocation: Invocation): Promise<number> {
  const { context } = environment
  const { globals } = invocation
  const found = await limitsOf(context, globals)
  if (isRefused(found)) return refuse(environment, found.operation, found.reply, invocation)
  if (!context.isLocal(globals)) context.notify(untold(found), globals)
  await environment.print(found, globals, { layout: limitsView, columns })
  return exitCodes.ok
}

/** What a server does not say of limits. */
const untold = ({ windows }: Limits): string =>
  windows.length === 0
    ? 'What is left of the windows of requests is known to the server only; its weekly limit and resets too.'
    : 'Requests are those that this machine knows of. A weekly limit, and when quotas reset, is known to the server only.'
