import type { Caller, Layer } from '../../api/calls/caller.js'
import { ApiError, toRefusal } from '../../api/calls/errors.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { Clock } from '../../api/ports/ports.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { Principal } from '../tables/members.js'
import { checkScope, createAccess } from './access.js'

/** What a proxy between users with keys of ours and a server with one key needs. */
interface GuardPorts {
  /** The members and their keys. */
  readonly store: Driver
  readonly clock: Clock
  /** The key of the server; users never see it. */
  readonly apiKey: string
  /** Called when an answer that a member got turns out to be perhaps the one to another request. */
  readonly onSuspect?: (id: OperationId, member: string) => void
  /** Waits in real time, when many keys are refused. */
  readonly sleep: (ms: number) => Promise<void>
}

/** Returns a server behind keys of ours: an invalid key is 401, one without the scope 403. The server's key replaces it. */
export function guardCaller({ store, clock, apiKey, sleep, onSuspect }: GuardPorts): Layer {
  const access = createAccess(store, { clock, sleep })
  return (upstream) => {
    const answerRequest = createGuardedCall(access, upstream, apiKey, onSuspect)
    return {
      ...upstream,
      answerRequest,
      call: (id, input, options) => answerRequest(id, async () => input, options),
    }
  }
}

/** Returns whether an error is a local fault, not a refusal of the request. */
const isFault = ({ status }: ApiError): boolean => status >= 500

const createGuardedCall =
  (
    access: (apiKey: string | undefined) => Promise<Principal>,
    upstream: Pick<Caller, 'call' | 'refusedNow'>,
    apiKey: string,
    onSuspect?: GuardPorts['onSuspect'],
  ): NonNullable<Caller['answerRequest']> =>
  async (id, readInput, options = {}) => {
    const row = operation(id)
    let isAsked = false
    try {
      const principal = await access(options.apiKey)
      checkScope(id, principal)
      const refused = await upstream.refusedNow?.(id, { ...options, apiKey })
      if (refused) return refused
      const input = await readInput()
      isAsked = true
      const { member } = principal
      const suspect = onSuspect && (() => onSuspect(id, member.email))
      return await upstream.call(id, input, { ...options, apiKey, member, onSuspect: suspect })
    } catch (error) {
      // After a fault behind this point it is unknown whether the server did the work.
      if (!(error instanceof ApiError) || (isAsked && isFault(error))) throw error
      return toRefusal(error, row)
    }
  }
