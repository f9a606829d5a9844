import { type Command, InvalidArgumentError } from 'commander'
import { plans } from '../../../api/operations/plans.js'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { adminAction } from './admin-action.js'

/** `prospect engine plan`: the plan decides requests per minute, quotas and the monthly credits. */
export function planCommand(shell: Shell): Command {
  const plan = asGroup(shell.command('plan', 'The plan of the workspace'))
  return plan.addCommand(setPlan(shell))
}

function setPlan(shell: Shell): Command {
  const command = shell
    .command('set', 'Set the plan. It grants no credits, and what was used of a quota stays used.')
    .argument('<name>', `one of ${Object.keys(plans).join(', ')}; another name has the limits of free`, plain)
  guide(
    command,
    ['engine plan set free', 'engine plan set scale'],
    'See what it allows: prospect engine status',
  )
  return adminAction(shell, command, async (admin, { args: [name = ''], globals }) => {
    const result = await admin.setPlan(name)
    if (!result.listed)
      shell.context.notify(`The plan ${name} is not listed: it has the limits of the plan Free.`, globals)
    return result
  })
}

function plain(name: string): string {
  if (name.trim() === '') throw new InvalidArgumentError('Give the name of a plan.')
  return name.trim()
}
