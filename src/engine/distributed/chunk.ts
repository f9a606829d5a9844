import { ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { ApiError, failureOf } from '../../api/calls/errors.js'
import { isLimited } from '../../api/calls/retry.js'
import { parseExact, toJson } from '../../api/values/json.js'

/** The call of a row, as the worker of its chunk makes it. */
export interface ChunkCall {
  readonly ordinal: number
  /** Whether the row was certainly never sent before. */
  readonly fresh: boolean
  /** Whether another worker may have made the call, without a result, at a possible cost. */
  readonly doubted?: true
  /** Idempotency key, the same every time the row is sent. */
  readonly key: string
  readonly input: Input
}

/** A call that got no reply. */
interface LostCall {
  readonly lost: string
  readonly unknown: boolean
}

/** The result of a call: a reply, a lost connection, an unknown outcome, or null when it was not made. */
export type CallResult = Omit<Reply, 'text'> | LostCall | { readonly doubted: true } | null

/** A call that began and has no known end; it may be repeated when it has one effect. */
export const inDoubt: CallResult = { doubted: true }

export const isInDoubt = (result: CallResult): boolean => result !== null && 'doubted' in result

export const isAnswer = (results: CallResult | undefined): results is Omit<Reply, 'text'> =>
  results !== null && results !== undefined && 'status' in results

export const writeCalls = (calls: readonly ChunkCall[]): string => toJson(calls)

export const readCalls = (text: string): readonly ChunkCall[] => parseExact(text) as ChunkCall[]

/** Writes the results of a chunk as JSON, in the order of its calls. */
export const writeResults = (results: readonly CallResult[]): string => toJson(results)

export const readResults = (text: string): readonly CallResult[] => parseExact(text) as CallResult[]

export const toLostCall = ({ message, unknown }: ConnectionLost): LostCall => ({ lost: message, unknown })

/** Returns the reply of a result; throws when there was none. */
export function toReply(results: Exclude<CallResult, null>): Reply {
  if ('lost' in results) throw new ConnectionLost(results.lost, results.unknown)
  if (!isAnswer(results)) throw new ApiError('outcome_unknown')
  return results
}

/** Returns whether later calls would be refused like this one, now or for good. */
export function isHeldBack(results: CallResult): boolean {
  if (!isAnswer(results) || isOk(results) || results.unknown) return false
  return isLimited(results) || endsRun(results)
}

export const endsRun = (reply: Omit<Reply, 'text'>): boolean =>
  !isOk(reply) && !reply.unknown && failureOf(reply.status, reply.body).stops
