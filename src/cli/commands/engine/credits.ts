import type { Command } from 'commander'
import { whole } from '../../options/flags.js'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { adminAction } from './admin-action.js'

/** `prospect engine credits`: the balance; each change is a movement of the ledger. */
export function creditsCommand(shell: Shell): Command {
  const credits = asGroup(shell.command('credits', 'The credit balance of the workspace'))
  return credits.addCommand(addCredits(shell)).addCommand(setCredits(shell))
}

function addCredits(shell: Shell): Command {
  const command = shell
    .command('add', 'Add credits to the balance, as a top-up does')
    .argument('<credits>', 'how many', whole)
  guide(command, ['engine credits add 500'], 'See the movement: prospect engine ledger')
  return adminAction(shell, command, (admin, { args }) => admin.addCredits(Number(args[0])))
}

function setCredits(shell: Shell): Command {
  const command = shell
    .command('set', 'Set the balance, as an adjustment up or down')
    .argument('<credits>', 'the new balance', whole)
  guide(
    command,
    ['engine credits set 0'],
    'With 0 credits every priced call answers 402: try your script against it.',
  )
  return adminAction(shell, command, (admin, { args }) => admin.setCredits(Number(args[0])))
}
