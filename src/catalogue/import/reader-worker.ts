import { randomBytes, randomUUID } from 'node:crypto'
import { on } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { ApiError, type LocalCode, Refusal } from '../../api/calls/errors.js'
import { prepareFile } from './prepare.js'
import {
  type MessageFromReader,
  type MessageToReader,
  packRecord,
  type ReaderTask,
  Semaphore,
} from './reader.js'

/** Maximum number of batches that were read but not yet written. */
const maxQueuedBatches = 2

/** Reads a file whose bytes arrive in messages, and posts its batches. */
export async function readMessages(port: MessagePort, { kind, options }: ReaderTask): Promise<void> {
  const post = (message: MessageFromReader) => port.postMessage(message)
  const chunks = receiveChunks(on(port, 'message'), () => post({ taken: true }))
  const queue = new Semaphore(maxQueuedBatches)
  port.on('message', (message: MessageToReader) => {
    if ('written' in message) queue.release()
  })
  const ids = { uuid: randomUUID, bytes: randomBytes }
  try {
    for await (const batch of prepareFile(kind, chunks, options, ids, packRecord)) {
      post({ batch })
      await queue.acquire()
    }
    post({ end: true })
  } catch (error) {
    if (error === inputBroken) post({ end: true })
    else if (!(error instanceof Refusal) || error instanceof ApiError) throw error
    else post({ refusal: error.code as LocalCode, details: error.details })
  }
}

/** The bytes broke off; the main thread knows the reason. */
const inputBroken = new Error('The bytes broke off')

async function* receiveChunks(messages: AsyncIterable<unknown[]>, onTaken: () => void) {
  for await (const [value] of messages) {
    const message = value as MessageToReader
    if ('end' in message && message.end === 'broken') throw inputBroken
    if ('end' in message) return
    if (!('bytes' in message)) continue
    onTaken()
    yield message.bytes
  }
}

if (parentPort) await readMessages(parentPort, workerData as ReaderTask)
