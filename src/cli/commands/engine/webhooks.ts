import type { Command } from 'commander'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { adminAction } from './admin-action.js'

/** `prospect engine webhooks`: how deliveries are signed. */
export function webhooksCommand(shell: Shell): Command {
  return asGroup(shell.command('webhooks', 'How deliveries to webhooks are signed')).addCommand(secret(shell))
}

function secret(shell: Shell): Command {
  const command = shell
    .command('secret', 'Show the secret that signs the deliveries of the workspace')
    .option('--rotate', 'make a new one; the old one signs along for another day')
  guide(
    command,
    ['engine webhooks secret', 'engine webhooks secret --rotate'],
    'Give it to the receiver, in a file or an environment variable: prospect listen --secret-file webhook.secret',
  )
  return adminAction(shell, command, async (admin, { options }) => ({
    secret: await admin.webhookSecret(options.rotate === true),
  }))
}
