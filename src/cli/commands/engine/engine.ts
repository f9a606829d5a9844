import type { CommandFactory } from '../../options/command-environment.js'
import { backupCommand, exportCommand, importCommand, resetCommand, restoreCommand } from './database.js'
import { deliveriesCommand, jobsCommand } from './jobs.js'
import { ledgerCommand } from './ledger.js'
import { keysCommand, membersCommand } from './members.js'
import {
  clockCommand,
  creditsCommand,
  planCommand,
  quotasCommand,
  sessionCommand,
  statusCommand,
  webhooksCommand,
  workspacesCommand,
} from './workspace.js'

/** `prospect engine`: administration of the local workspace. A change applies to the next request. */
export const engineCommand: CommandFactory = ({ group }) =>
  group('engine', 'The local workspace: plan, credits, quotas, members, keys, clock, ledger, jobs', [
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
  ])
