import type { Command } from 'commander'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { backupCommand } from './backup.js'
import { clockCommand } from './clock.js'
import { creditsCommand } from './credits.js'
import { deliveriesCommand } from './deliveries.js'
import { jobsCommand } from './jobs.js'
import { keysCommand } from './keys.js'
import { ledgerCommand } from './ledger.js'
import { membersCommand } from './members.js'
import { planCommand } from './plan.js'
import { quotasCommand } from './quotas.js'
import { resetCommand } from './reset.js'
import { restoreCommand } from './restore.js'
import { sessionCommand } from './session.js'
import { statusCommand } from './status.js'
import { exportCommand, importCommand } from './transfer.js'
import { webhooksCommand } from './webhooks.js'
import { workspacesCommand } from './workspaces.js'

const parts = [
  statusCommand,
  planCommand,
  creditsCommand,
  quotasCommand,
  membersCommand,
  keysCommand,
  sessionCommand,
  clockCommand,
  ledgerCommand,
  jobsCommand,
  deliveriesCommand,
  webhooksCommand,
  workspacesCommand,
  backupCommand,
  restoreCommand,
  exportCommand,
  importCommand,
  resetCommand,
] as const

/** `prospect engine`: the local workspace in the hands of its owner. A change holds for the next request. */
export function engineCommand(shell: Shell): Command {
  const engine = asGroup(
    shell.command('engine', 'The local workspace: plan, credits, quotas, members, keys, clock, ledger, jobs'),
  )
  for (const part of parts) engine.addCommand(part(shell))
  return guide(engine, ['engine status', 'engine credits set 0', 'engine clock advance 1d'])
}
