import { parentPort } from 'node:worker_threads'
import { type BodyTask, memoryOf, parseBody } from './parse-body.js'

/** The program of the thread that parses large bodies: each message is one, and is answered by one. */
parentPort?.on('message', async (task: BodyTask) => {
  const parsed = await parseBody(task)
  parentPort?.postMessage(parsed, memoryOf(parsed))
})
