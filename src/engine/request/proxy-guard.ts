import type { Caller, Layer } from '../../api/calls/caller.js'
import { ApiError, Refusal, toRefusal } from '../../api/calls/errors.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { Clock } from '../../api/ports/ports.js'
import { once } from '../../api/values/objects.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { Principal } from '../tables/members.js'
import { accessOf, checkScope, createAccess } from './access.js'

/** What a proxy between users with keys of ours and a server with one key needs. */
interface GuardPorts {
  /** The members and their keys. */
  readonly store: Driver
  readonly clock: Clock
  /** The key of the server; users never see it. */
  readonly apiKey: string
  /** Called when an answer that a member got turns out to be perhaps the one to another request. */
  readonly onDoubted?: (id: OperationId, member: string) => void
  /** Waits in real time, when many keys are refused. */
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * Returns a caller of the same server for a key that was checked before. The key's id is looked up once more; when
 * that fails for a local reason, nothing is sent: another process may send it.
 */
export function guardCallerFor(
  keyId: string,
  upstream: Pick<Caller, 'call'>,
  { store, clock, apiKey }: Omit<GuardPorts, 'sleep'>,
): Pick<Caller, 'call'> {
  const find = once(() => accessOf(store, clock, keyId))
  const access = async () => {
    try {
      return await find()
    } catch (error) {
      throw error instanceof ApiError && !isFault(error)
        ? error
        : new Refusal('engine.not_sent', { cause: error })
    }
  }
  const answerRequest = createGuardedCall(access, upstream, apiKey)
  return { call: (id, input, options) => answerRequest(id, async () => ({ input }), options) }
}

/** Returns a server behind keys of ours: an invalid key is 401, one without the scope 403. The server's key replaces it. */
export function guardCaller({ store, clock, apiKey, sleep, onDoubted }: GuardPorts): Layer {
  const access = createAccess(store, { clock, sleep })
  return (upstream) => {
    const answerRequest = createGuardedCall(access, upstream, apiKey, onDoubted)
    return {
      ...upstream,
      answerRequest,
      call: (id, input, options) => answerRequest(id, async () => ({ input }), options),
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
    onDoubted?: GuardPorts['onDoubted'],
  ): NonNullable<Caller['answerRequest']> =>
  async (id, readInput, options = {}) => {
    const row = operation(id)
    let isAsked = false
    try {
      const principal = await access(options.apiKey)
      checkScope(id, principal)
      const refused = await upstream.refusedNow?.(id, { ...options, apiKey })
      if (refused) return refused
      const { input } = await readInput({ owner: principal.workspace.id, validates: false })
      isAsked = true
      const { member } = principal
      const doubted = onDoubted && (() => onDoubted(id, member.email))
      return await upstream.call(id, input, { ...options, apiKey, member, onDoubted: doubted })
    } catch (error) {
      // After a fault behind this point it is unknown whether the server did the work.
      if (!(error instanceof ApiError) || (isAsked && isFault(error))) throw error
      return toRefusal(error, row)
    }
  }
