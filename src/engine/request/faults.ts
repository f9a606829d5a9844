import { type AnswerLoss, type CallOptions, ConnectionLost, type Reply } from '../../api/calls/caller.js'
import { ApiError, type ErrorCode, errors, toRefusal } from '../../api/calls/errors.js'
import { areaOf, type Operation } from '../../api/operations/table.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { creditsNeeded } from '../credits/cost.js'
import { findRunReply, idempotencyKey, type Request } from '../credits/settlement.js'
import { type Fault, type FaultRules, faultId, takeFaults } from '../tables/faults.js'
import { findReply } from '../tables/replies.js'
import { needsSession, sessionError } from './access.js'

/** The error that each status of a fault stands for, where it names none. */
const errorOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'bad_request',
  401: 'invalid_api_key',
  402: 'insufficient_credits',
  403: 'forbidden',
  404: 'not_found',
  409: 'idempotency_key_reused',
  422: 'invalid',
  429: 'rate_limited',
  500: 'internal',
  503: 'busy',
}

export const faultStatuses: readonly number[] = Object.keys(errorOfStatus).map(Number)

/** Returns the error that a fault refuses with; `undefined` when it refuses nothing, or has no such error. */
export function errorOfFault({ status, code, network, invalidSession }: FaultRules): ErrorCode | undefined {
  if (invalidSession) return 'network_session_required'
  if (status === undefined) return undefined
  const error = code ?? (network ? 'network_rate_limited' : errorOfStatus[status])
  return error && Object.hasOwn(errors, error) && errors[error].status === status ? error : undefined
}

interface FaultPorts {
  readonly store: Driver
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Answers a request of a workspace that has faults, and changes the answer as they say (decision 23). */
export async function answerUnderFaults(
  { store, sleep }: FaultPorts,
  request: Request,
  options: CallOptions,
  work: () => Promise<Reply>,
): Promise<Reply> {
  const { signal } = options
  const { operation, principal, input, now } = request
  const workspaceId = principal.workspace.id
  const caller = { workspaceId, memberId: principal.member.id }
  const places = ['all', areaOf(operation.id), operation.id]
  const faults = await store.transaction(async (tx) => {
    const isAnswered = await hasReply(tx, workspaceId, operation, options)
    const permits = ({ invalidSession, status }: FaultRules) =>
      (!invalidSession || (!isAnswered && needsSession(operation, input))) &&
      (!isAnswered || status === undefined || beforeKey.includes(status))
    return takeFaults(tx, { ...caller, places, permits }, now)
  }, workspaceId)
  if (faults.length === 0) return work()
  const fault = faults.find(({ rules }) => rules.delay === undefined)
  const reply = await replyUnder(fault, request, work)
  const delayMs = faults.reduce((sum, { rules }) => sum + (rules.delay ?? 0), 0)
  if (delayMs > 0) await sleep(delayMs, signal)
  const loss = delayMs > 0 && signal?.aborted ? 'timed_out' : lossBy(fault?.rules)
  const headers = { ...reply.headers, 'x-prospect-fault': faults.map(faultId).join(', ') }
  return { ...reply, headers, ...(loss ? { loss } : {}) }
}

/** Statuses that may come before the key is looked at. No other refuses a request that was answered under its key. */
const beforeKey: readonly number[] = [401, 403, 429, 500, 503]

/** Returns whether a call repeats one that was answered. */
async function hasReply(
  tx: Connection,
  workspaceId: string,
  { idempotent }: Operation,
  { row, idempotencyKey: header }: CallOptions,
): Promise<boolean> {
  if (!idempotent) return false
  if (row) return (await findRunReply(tx, workspaceId, row.run, row.ordinal)) !== undefined
  const key = idempotencyKey(header)
  return key !== undefined && typeof (await findReply(tx, workspaceId, key))?.status === 'number'
}

/** Returns the refusal of a fault, or the reply of the work, unless that must not be done. */
async function replyUnder(fault: Fault | undefined, request: Request, work: () => Promise<Reply>) {
  const { operation, input, topUpUrl } = request
  const code = fault?.rules.invalidSession ? sessionError(operation) : fault && errorOfFault(fault.rules)
  const refuse = (error: ApiError) => toRefusal(error, operation)
  if (fault && code) {
    const { retryAfter = code === 'rate_limited' ? 1 : undefined } = fault.rules
    const details = {
      reason: `Refused by the fault ${faultId(fault)}`,
      need: creditsNeeded(operation, input),
      have: 0,
      top_up_url: topUpUrl,
    }
    return refuse(
      new ApiError(code, details, retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` }),
    )
  }
  if (fault?.rules.drop === 'before') return refuse(new ApiError('internal'))
  return work().catch((error: unknown) => {
    if (error instanceof ApiError) return refuse(error)
    throw error
  })
}

function lossBy({ drop, timeout, truncate, garble }: FaultRules = {}): AnswerLoss | undefined {
  if (drop) return 'dropped'
  if (timeout) return 'timed_out'
  if (truncate) return 'truncated'
  return garble ? 'garbled' : undefined
}

/** How long a call waits for an answer that never comes, as for a server. */
const answerMs = 120_000

const reasons = {
  truncated: 'with only a part of its body',
  garbled: 'with something that is not JSON',
} as const

/** Loses an answer that comes from no server, as a client of one would see it: no answer, or a 502. */
export async function loseReply(
  reply: Reply,
  operation: Operation,
  { signal }: CallOptions,
  { sleep }: Pick<FaultPorts, 'sleep'>,
): Promise<Reply> {
  const { loss, headers } = reply
  if (!loss) return reply
  const isOpen = operation.idempotent || operation.method === 'DELETE'
  if (loss === 'truncated' || loss === 'garbled') {
    const refusal = toRefusal(new ApiError('bad_gateway', { reason: reasons[loss] }), operation)
    return { ...refusal, headers, ...(isOpen ? { unknown: true } : {}) }
  }
  if (loss === 'timed_out' && !signal?.aborted) await sleep(answerMs, signal)
  const what = loss === 'dropped' ? 'The connection was closed' : 'No answer came in time'
  throw new ConnectionLost(`${what} (fault ${headers['x-prospect-fault']})`, isOpen)
}
