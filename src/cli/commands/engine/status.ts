import type { Command } from 'commander'
import { guide } from '../../shell/guide.js'
import type { Shell } from '../../shell/shell.js'
import { statusView } from '../limits/status-view.js'
import { adminAction } from './admin-action.js'

/** `prospect engine status`: everything about the workspace in use, in one look. */
export function statusCommand(shell: Shell): Command {
  const command = shell.command(
    'status',
    'Plan, credits, quotas, members, jobs, deliveries, sessions, clock and catalogue',
  )
  guide(command, ['engine status', 'engine status --json --fields credits.enrichment'])
  return adminAction(
    shell,
    command,
    async (admin) => ({
      ...(await admin.status()),
      catalogue: await (await shell.context.catalogue()).stats(),
    }),
    { layout: statusView },
  )
}
