import { ConnectionLost, type Input, isOk, type Reply } from '../api/caller.js'
import { failureOf } from '../api/errors.js'
import { parseExact, toJson } from '../api/exact-json.js'

/** The call of a row, as whoever takes its chunk makes it. */
export interface ChunkCall {
  readonly ordinal: number
  /** Whether the row surely was never sent before. */
  readonly fresh: boolean
  /** Idempotency key, the same whenever the row is sent. */
  readonly key: string
  readonly input: Input
}

/** A call that brought no reply. */
interface Lost {
  readonly lost: string
  readonly unknown: boolean
}

/** What came of a call: a reply, none, or null where it was not made. */
export type Came = Omit<Reply, 'text'> | Lost | null

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

/** The reply in what came of a call; throws ConnectionLost where there was none. */
export function replyOf(came: Exclude<Came, null>): Reply {
  if ('lost' in came) throw new ConnectionLost(came.lost, came.unknown)
  return came
}

/** Whether calls behind this one would be refused like it, now or for good. */
export function isHeldBack(came: Came): boolean {
  if (came === null || 'lost' in came || isOk(came) || came.unknown) return false
  return came.status === 429 || stops(came)
}

/** Whether a reply ends a run. */
export const stops = (reply: Omit<Reply, 'text'>): boolean =>
  !isOk(reply) && !reply.unknown && failureOf(reply.status, reply.body).stops
