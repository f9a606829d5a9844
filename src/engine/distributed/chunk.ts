import { ConnectionLost, type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { ApiError, failureOf } from '../../api/calls/errors.js'
import { parseExact, toJson } from '../../api/values/json.js'

/** The call of a row, as whoever takes its chunk makes it. */
export interface ChunkCall {
  readonly ordinal: number
  /** Whether the row surely was never sent before. */
  readonly fresh: boolean
  /** Whether somebody may have made it who has not said what came of it, and it may have cost something. */
  readonly doubted?: true
  /** Idempotency key, the same whenever the row is sent. */
  readonly key: string
  readonly input: Input
}

/** A call that brought no reply. */
interface Lost {
  readonly lost: string
  readonly unknown: boolean
}

/** A call that may have been made, by somebody who cannot say what came of it. */
interface Doubted {
  readonly doubted: true
}

/** What came of a call: a reply, none, nothing that anybody knows, or null where it was not made. */
export type CallResult = Omit<Reply, 'text'> | Lost | Doubted | null

/** Of a call that was begun and came to no end that is known; it may be made again where it has one effect. */
export const inDoubt: CallResult = { doubted: true }

/** Whether a call was answered. */
export const isAnswer = (results: CallResult | undefined): results is Omit<Reply, 'text'> =>
  results !== null && results !== undefined && 'status' in results

/** Calls as JSON. */
export const writeCalls = (calls: readonly ChunkCall[]): string => toJson(calls)

/** The calls of a chunk. */
export const readCalls = (text: string): readonly ChunkCall[] => parseExact(text) as ChunkCall[]

/** What came of the calls of a chunk as JSON, each at the place of its call. */
export const writeResults = (results: readonly CallResult[]): string => toJson(results)

/** What came of the calls of a chunk. */
export const readResults = (text: string): readonly CallResult[] => parseExact(text) as CallResult[]

/** What is told of a call that brought no reply. */
export const toLostCall = ({ message, unknown }: ConnectionLost): Lost => ({ lost: message, unknown })

/** The reply in what came of a call; throws where there was none. */
export function toReply(results: Exclude<CallResult, null>): Reply {
  if ('lost' in results) throw new ConnectionLost(results.lost, results.unknown)
  if (!isAnswer(results)) throw new ApiError('outcome_unknown')
  return results
}

/** Whether calls behind this one would be refused like it, now or for good. */
export function isHeldBack(results: CallResult): boolean {
  if (!isAnswer(results) || isOk(results) || results.unknown) return false
  return results.status === 429 || stops(results)
}

/** Whether a reply ends a run. */
export const stops = (reply: Omit<Reply, 'text'>): boolean =>
  !isOk(reply) && !reply.unknown && failureOf(reply.status, reply.body).stops
