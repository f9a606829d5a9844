import { parentPort } from 'node:worker_threads'
import { passedResults } from '../client/proxied-work.js'
import { summarizeReply } from '../client/reply.js'
import { parseRequest } from './body.js'
import { readDelivery } from './receiver.js'

/** What is done in another thread, by kind of task. */
const work = {
  request: parseRequest,
  reply: summarizeReply,
  delivery: readDelivery,
  records: passedResults,
} as const

/** A large body to be parsed in another thread. */
export type BodyTask = Parameters<(typeof work)[keyof typeof work]>[0]

/** What the thread hands back. */
type BodyTaskResult<T extends BodyTask> = Awaited<ReturnType<(typeof work)[T['kind']]>>

/** Does a task, in whichever thread. */
export const performTask = async <T extends BodyTask>(task: T): Promise<BodyTaskResult<T>> =>
  (await work[task.kind](task as never)) as BodyTaskResult<T>

/** The program of the thread that parses large bodies: each message is one, and is answered by one. */
parentPort?.on('message', async (task: BodyTask) => parentPort?.postMessage(await performTask(task)))
