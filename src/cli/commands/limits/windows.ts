import { windowsOn } from '../../../api/operations/windows.js'
import { ownerOf } from '../../../client/paced.js'
import { openState } from '../../../storage/state/open.js'
import { serverMemory } from '../../../storage/state/remote-servers.js'
import type { ClockContext, HomeContext } from '../../context/context.js'
import { prepareHome } from '../../context/home.js'
import { isoTime } from '../../options/time-values.js'
import type { RemoteTarget } from '../../target/resolve-target.js'
import type { Limits } from './result.js'

/**
 * The windows of a server as this machine knows them: what it sent, and what the server said of it. Without a plan only
 * those whose limit the server has told.
 */
export async function windowsOfServer(
  context: ClockContext & HomeContext,
  { origin }: RemoteTarget,
  apiKey: string | undefined,
  plan: string | undefined,
): Promise<Limits['windows']> {
  prepareHome(context.home)
  const database = await openState(context.home.state)
  try {
    const all = windowsOn(plan ?? '')
    const names = all.map(({ window }) => window.name)
    const known = await serverMemory(database, origin).windows(ownerOf(origin, apiKey), names)
    const now = context.clock.now()
    return all.flatMap(({ window, ...counting }, at) => {
      const { endsAt = 0, count = 0, most = null } = known[at] ?? {}
      const isOwn = counting.operation !== null
      const limit = most ?? (plan !== undefined || isOwn ? window.limit : undefined)
      if (limit === undefined) return []
      const used = endsAt > now ? count : 0
      const per = window.windowMs === 1_000 ? 'second' : 'minute'
      const resets_at = used > 0 ? isoTime(endsAt) : null
      return [{ ...counting, per, limit, used, remaining: Math.max(0, limit - used), resets_at } as const]
    })
  } finally {
    await database.close()
  }
}
