import { type Command, Option } from 'commander'
import { UsageError } from '../../context/errors.js'
import { guide } from '../../shell/guide.js'
import { asGroup, type Shell } from '../../shell/shell.js'
import { adminAction } from './admin-action.js'

/** `prospect engine session`: the sessions that live calls need, as `GET /account` reports them. */
export function sessionCommand(shell: Shell): Command {
  const session = asGroup(shell.command('session', 'Sessions on the network that live calls need'))
  return session.addCommand(setSession(shell))
}

function setSession(shell: Shell): Command {
  const truth = (flags: string, text: string) => new Option(flags, text).choices(['true', 'false'])
  const command = shell
    .command('set', 'Say which sessions are valid')
    .addOption(truth('--network <valid>', 'true | false: the session on the network'))
    .addOption(truth('--premium <valid>', 'true | false: the session of the premium search tool'))
  guide(
    command,
    ['engine session set --network false', 'engine session set --network true --premium true'],
    'Without a valid session live calls answer 422; with --no-live they work.',
  )
  return adminAction(shell, command, async (admin, { options: { network, premium } }) => {
    if (network === undefined && premium === undefined)
      throw new UsageError('No session was given.', 'Add --network true|false or --premium true|false.')
    return admin.setSession({
      ...(network === undefined ? {} : { network: network === 'true' }),
      ...(premium === undefined ? {} : { premium: premium === 'true' }),
    })
  })
}
