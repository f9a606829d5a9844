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
export type Came = Omit<Reply, 'text'> | Lost | Doubted | null

/** Of a call that was begun and came to no end that is known; it may be made again where it has one effect. */
export const inDoubt: Came = { doubted: true }

/** Whether a call was answered. */
export const isAnswer = (came: Came | undefined): came is Omit<Reply, 'text'> =>
  came !== null && came !== undefined && 'status' in came

/** Calls as JSON. */
export const writeCalls = (calls: readonly ChunkCall[]): string => toJson(calls)

/** The calls of a chunk. */
export const readCalls = (text: string): readonly ChunkCall[] => parseExact(text) as ChunkCall[]

/** What came of the calls of a chunk as JSON, each at the place of its call. */
export const writeCame = (came: readonly Came[]): string => toJson(came)

/** What came of the calls of a chunk. */
export const readCame = (text: string): readonly Came[] => parseExact(text) as Came[]

/** What is told of a call that brought no reply. */
export const lostOf = ({ message, unknown }: ConnectionLost): Lost => ({ lost: message, unknown })

/** The reply in what came of a call; throws where there was none. */
export function replyOf(came: Exclude<Came, null>): Reply {
  if ('lost' in came) throw new ConnectionLost(came.lost, came.unknown)
  if (!isAnswer(came)) throw new ApiError('outcome_unknown')
  return came
}

/** Whether calls behind this one would be refused like it, now or for good. */
export function isHeldBack(came: Came): boolean {
  if (!isAnswer(came) || isOk(came) || came.unknown) return false
  return came.status === 429 || stops(came)
}

/** Whether a reply ends a run. */
export const stops = (reply: Omit<Reply, 'text'>): boolean =>
  !isOk(reply) && !reply.unknown && failureOf(reply.status, reply.body).stops
