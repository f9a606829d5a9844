import type { Admin } from '../../../engine/admin/admin.js'
import { hashKey } from '../../../engine/request/keys.js'
import type { ClockContext, GlobalOptions, HomeContext, StreamsContext } from '../../context/context.js'
import { forgetKey, localOrigin, storedKey } from '../../context/credentials.js'

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
