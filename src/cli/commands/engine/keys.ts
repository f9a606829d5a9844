import type { Command } from 'commander'
import type { Admin } from '../../../engine/admin/admin.js'
import type { Key } from '../../../engine/ports/ports.js'
import { hashKey } from '../../../engine/request/keys.js'
import type { ClockContext, GlobalOptions, HomeContext, StreamsContext } from '../../context/context.js'
import { forgetKey, localOrigin, storedKey } from '../../context/credentials.js'
import { UsageError } from '../../context/errors.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { isoTime, momentMs, repeated } from '../../options/values.js'
import { adminAction } from './admin-action.js'

/** `prospect engine keys`: API keys of the members. Only a hash of a key is kept. */
export function keysCommand(environment: CommandEnvironment): Command {
  const keys = asGroup(environment.command('keys', 'API keys of the members'))
  return keys
    .addCommand(createKey(environment))
    .addCommand(listKeys(environment))
    .addCommand(revokeKey(environment))
}

function createKey(environment: CommandEnvironment): Command {
  const command = environment
    .command('create', 'Create a key for a member and show it, this once')
    .requiredOption('--member <email>', 'whose key it is')
    .option('--scope <area>', 'an area the key may use; repeat it for more (default: all)', repeated)
    .option('--expires <time>', 'day or time after which it is refused (UTC)', momentMs)
  guide(
    command,
    [
      'engine keys create --member me@localhost',
      'engine keys create --member me@localhost --scope accounts --expires 2030-01-01',
    ],
    'Keep the key: it cannot be shown again. Give it to a program in PROSPECT_API_KEY, or to a server as X-API-KEY.',
  )
  return adminAction(environment, command, async (admin, { options }) => {
    const { member, scope, expires } = options as {
      member: string
      scope?: readonly string[]
      expires?: number
    }
    const scopes = scope?.flatMap((each) => each.split(',')).map((each) => each.trim())
    const now = (await admin.clock()).now
    if (expires !== undefined && expires <= now)
      throw new UsageError('--expires is in the past.', `The engine's clock says ${isoTime(now)}.`)
    return admin.createKey({
      member,
      ...(scopes === undefined ? {} : { scopes }),
      ...(expires === undefined ? {} : { expiresAt: expires }),
    })
  })
}

function listKeys(environment: CommandEnvironment): Command {
  const command = environment.command(
    'list',
    'List the keys by their first letters; the keys themselves are nowhere',
  )
  guide(command, ['engine keys list'], 'Take one back: prospect engine keys revoke ID')
  return adminAction(environment, command, async (admin) => (await admin.keys()).map(shown), {
    columns: ['id', 'hint', 'member', 'scopes', 'created_at', 'expires_at', 'revoked_at'],
  })
}

const shown = ({
  id,
  hint,
  member,
  scopes,
  createdAt,
  expiresAt,
  revokedAt,
}: Key & { readonly member: string }) => ({
  id,
  hint,
  member,
  scopes,
  created_at: isoTime(createdAt),
  expires_at: expiresAt === null ? null : isoTime(expiresAt),
  revoked_at: revokedAt === null ? null : isoTime(revokedAt),
})

function revokeKey(environment: CommandEnvironment): Command {
  const command = environment
    .command('revoke', 'Revoke a key; the next request with it is refused')
    .argument('<id>', 'id of the key, as keys list shows it')
  guide(command, ['engine keys revoke 6c7c0a8e-2f0b-4e3c-9a7d-1c1d0f2b9e55'])
  return adminAction(environment, command, async (admin, { args: [id = ''], globals }) => {
    await admin.revokeKey(id)
    await forgetDeadKey(environment.context, admin, globals)
    return { id, revoked: true }
  })
}

/**
 * Forgets the key that this machine keeps for the workspace in use when the engine does not take it any more, and
 * says so: the next command then makes itself a new one instead of being refused.
 */
export async function forgetDeadKey(
  context: StreamsContext & ClockContext & HomeContext,
  admin: Admin,
  globals: GlobalOptions,
): Promise<void> {
  const used = (await admin.workspaces()).find((workspace) => workspace.used)
  const own = used && storedKey(context.home, localOrigin(used.id))
  if (used === undefined || own === undefined) return
  const hash = hashKey(own)
  if ((await admin.keys()).some((key) => key.hash === hash && key.revokedAt === null)) return
  forgetKey(context.home, localOrigin(used.id), context.ids.uuid())
  context.notify(
    'The key of this machine is not valid any more: its next command makes itself a new one.',
    globals,
  )
}
