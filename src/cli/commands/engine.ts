import type { Command } from 'commander'
import { asGroup, type Shell } from '../shell.js'
import { backupCommand } from './engine/backup.js'
import { clockCommand } from './engine/clock.js'
import { creditsCommand } from './engine/credits.js'
import { deliveriesCommand } from './engine/deliveries.js'
import { jobsCommand } from './engine/jobs.js'
import { keysCommand } from './engine/keys.js'
import { ledgerCommand } from './engine/ledger.js'
import { membersCommand } from './engine/members.js'
import { planCommand } from './engine/plan.js'
import { quotasCommand } from './engine/quotas.js'
import { resetCommand } from './engine/reset.js'
import { restoreCommand } from './engine/restore.js'
import { sessionCommand } from './engine/session.js'
import { statusCommand } from './engine/status.js'
import { exportCommand, importCommand } from './engine/transfer.js'
import { webhooksCommand } from './engine/webhooks.js'
import { workspacesCommand } from './engine/workspaces.js'
import { guide } from './guide.js'

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
