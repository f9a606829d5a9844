import { parentPort } from 'node:worker_threads'
import { buffersIn } from '../api/values/bytes.js'
import { type BodyTask, performTask } from './body-tasks.js'

/** The program of the thread that parses large bodies: each message is one, and is answered by one. */
parentPort?.on('message', async (task: BodyTask) => {
  const result = await performTask(task)
  parentPort?.postMessage(result, buffersIn(result))
})
