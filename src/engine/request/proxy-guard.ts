import type { Caller, Reply } from '../../api/calls/caller.js'
import type { Layer } from '../../api/calls/compose.js'
import { ApiError, errorBody } from '../../api/calls/errors.js'
import { operation } from '../../api/operations/table.js'
import type { Clock, Principal, Store } from '../ports/ports.js'
import { NotSent } from '../settlement/row-caller.js'
import { accessOf, checkScope, createAccess } from './access.js'

/** What stands between people with keys of ours and a server that knows one key. */
export interface GuardPorts {
  /** Where members and their keys are. */
  readonly store: Store
  readonly clock: Clock
  /** The key that the server knows; nobody who asks gets to see it. */
  readonly apiKey: string
  /** Waits in real time, where many keys are refused. */
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * The same server for somebody whose key was checked before, known by its id: it is looked up again once. Where that
 * cannot be done here and now, whoever calls is told that nothing was asked.
 */
export function guardCallerFor(
  keyId: string,
  upstream: Pick<Caller, 'call'>,
  { store, clock, apiKey }: Omit<GuardPorts, 'sleep'>,
): Pick<Caller, 'call'> {
  let principal: Promise<Principal> | undefined
  const access = async () => {
    principal ??= accessOf(store, clock, keyId)
    try {
      return await principal
    } catch (error) {
      principal = undefined
      throw error instanceof ApiError && !isFault(error) ? error : new NotSent(error)
    }
  }
  const answerRequest = createGuardedCall(access, upstream, apiKey)
  return { call: (id, input, options) => answerRequest(id, async () => input, options) }
}

/**
 * A server behind keys of ours: without a valid one nothing is sent (401), nor outside of the scopes of the key (403).
 * What is sent carries the server's key in place of it.
 */
export function guardCaller({ store, clock, apiKey, sleep }: GuardPorts): Layer {
  const access = createAccess(store, { clock, sleep })
  return (upstream) => {
    const answerRequest = createGuardedCall(access, upstream, apiKey)
    return {
      ...upstream,
      answerRequest,
      call: (id, input, options) => answerRequest(id, async () => input, options),
    }
  }
}

/** Whether something is wrong here, and not with what is asked. */
const isFault = ({ status }: ApiError): boolean => status >= 500

const createGuardedCall =
  (
    access: (apiKey: string | undefined) => Promise<Principal>,
    upstream: Pick<Caller, 'call'>,
    apiKey: string,
  ): NonNullable<Caller['answerRequest']> =>
  async (id, readInput, options = {}) => {
    const row = operation(id)
    let isAsked = false
    try {
      const principal = await access(options.apiKey)
      const input = await readInput()
      checkScope(row, principal)
      isAsked = true
      return await upstream.call(id, input, { ...options, apiKey })
    } catch (error) {
      // Of a fault behind this point nobody knows whether the server has done the work.
      if (!(error instanceof ApiError) || (isAsked && isFault(error))) throw error
      const body = errorBody(error, row)
      return { status: error.status, body, headers: error.headers, credits: 0 } satisfies Reply
    }
  }
