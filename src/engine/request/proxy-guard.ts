import { shapeOf } from '../../api/areas/shapes.js'
import { type Caller, type Input, isOk, type Layer, type Reply } from '../../api/calls/caller.js'
import { ApiError, toRefusal } from '../../api/calls/errors.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import type { Clock } from '../../api/ports/ports.js'
import { validate } from '../../api/validation/validate.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import type { Driver } from '../../storage/driver/connection.js'
import { readWeekLeft, reportWeek } from '../credits/weekly-limit.js'
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

/** A server behind the keys of others: without one a request is 401, before its body is read. The server knows which are valid. */
export const requireKey: Layer = (upstream) => {
  const answerRequest: Caller['answerRequest'] = async (id, readInput, options = {}) =>
    options.apiKey
      ? upstream.call(id, await readInput(), options)
      : toRefusal(new ApiError('invalid_api_key'), operation(id))
  return {
    ...upstream,
    answerRequest,
    call: (id, input, options) => answerRequest(id, async () => input, options),
  }
}

/** Where the members of a proxy are, and the base address of the server that they share. */
type MemberPorts = Pick<GuardPorts, 'store' | 'clock'> & { readonly server: string }

/**
 * Gives the members of a proxy what is their own behind a key that they share: the account of their key with their name and
 * week, and their own consent to look up personal addresses, which the server knows only of the owner of its key.
 */
export const memberAccounts =
  ({ store, clock, server }: MemberPorts): Layer =>
  (upstream) => ({
    ...upstream,
    call: async (id, input, options = {}) => {
      const { member } = options
      if (!member) return upstream.call(id, input, options)
      if (asksForPersonal(input) && !member.consentPersonalEmail)
        return (await upstream.refusedNow?.(id, options, input)) ?? refuseWithoutConsent(id, input)
      const reply = await upstream.call(id, input, options)
      if (id !== 'account.show' || !isOk(reply)) return reply
      const week = await store.read((tx) => readWeekLeft(tx, { ...member, server }, clock.now()))
      return withAccount(reply, { email: member.email, name: member.name, weekly_limit: reportWeek(week) })
    },
  })

const asksForPersonal = ({ enrichment_type: types }: Input): boolean =>
  [types].flat().includes('personal_email')

/** What is wrong with the fields of a request comes first, as at an engine. */
async function refuseWithoutConsent(id: OperationId, input: Input): Promise<Reply> {
  const row = operation(id)
  try {
    validate(id, await shapeOf(id), input)
    throw new ApiError('consent_required')
  } catch (error) {
    if (error instanceof ApiError) return toRefusal(error, row)
    throw error
  }
}

/** Returns the reply with an account in place of that of the server's key, in the words of the server. */
function withAccount({ body, text: _, wire, ...reply }: Reply, account: object): Reply {
  const change = (whole: unknown) =>
    isObject(whole)
      ? { ...whole, account: { ...(isObject(whole.account) ? whole.account : {}), ...account } }
      : whole
  const changed = wire && change(parseExact(Buffer.from(wire).toString()))
  return {
    ...reply,
    body: change(body),
    ...(wire ? { wire: new Uint8Array(Buffer.from(toJson(changed))) } : {}),
  }
}
