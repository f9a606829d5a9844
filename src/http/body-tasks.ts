import type { Reply } from '../api/calls/caller.js'
import { type ReplyTask, summarizeReply } from '../client/reply.js'
import { type ParsedRequest, parseRequest, type RequestTask } from './parse-body.js'

/** A large body to be parsed in another thread. */
export type BodyTask = RequestTask | ReplyTask

/** What the thread hands back. */
export type TaskResult<T extends BodyTask> = T extends RequestTask ? ParsedRequest : Reply

/** Does a task, in whichever thread. */
export const performTask = async <T extends BodyTask>(task: T): Promise<TaskResult<T>> =>
  (await (task.kind === 'request' ? parseRequest(task) : summarizeReply(task))) as TaskResult<T>

/** Returns the memory of the bytes in a small value: it is handed to the other thread, not copied. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  if (value instanceof Uint8Array) return [value.buffer as ArrayBuffer]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(buffersIn)
}
