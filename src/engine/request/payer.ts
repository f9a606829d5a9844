import type { Reply } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { isUnreachable } from '../../api/calls/retry.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { Clock, Source } from '../../api/ports/ports.js'
import type { Driver } from '../../storage/driver/connection.js'
import { openSuppressor } from '../tables/members.js'
import { createAccess } from './access.js'

interface PayerPorts {
  readonly store: Driver
  readonly source: Source
  readonly clock: Clock
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * Returns what finds the workspace that pays for calls with a key, and how a reply that it has stored is answered now:
 * without people and companies who were suppressed meanwhile. `undefined` for a key that the engine refuses.
 */
export function createPayers({ store, source, ...waiting }: PayerPorts) {
  const access = createAccess(store, waiting)
  return async (apiKey: string) => {
    try {
      const { workspace, suppresses } = await access(apiKey)
      const clean = async (id: OperationId, reply: Reply): Promise<Reply> => {
        const suppressor = suppresses ? await openSuppressor(store, workspace.id) : undefined
        return (await suppressor?.reply(operation(id), reply, source)) ?? reply
      }
      return { workspace: workspace.id, clean }
    } catch (error) {
      // A database that is away says nothing of a key, and what is stored must not be paid for again.
      if (error instanceof ApiError && !isUnreachable(error)) return undefined
      throw error
    }
  }
}
