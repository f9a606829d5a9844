import { on } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Portion, Records } from './prepare.js'
import { type FromReader, type ReadingTask, Room, type ToReader, unpacked } from './reader-messages.js'
import { ImportError } from './report.js'

/** Chunks that a thread has before it at most: enough to read on while a transaction keeps this thread busy. */
const chunksAhead = 8

/** Reads a file in a thread of its own; what stands before an error, also one of the bytes themselves, comes before it. */
export async function* readInThread(
  program: string,
  task: ReadingTask,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Portion> {
  const worker = new Worker(program, { workerData: task })
  const room = new Room(chunksAhead)
  const messages = on(worker, 'message')
  const fed = feed(bytes, room, worker)
  try {
    for await (const [message] of messages) {
      const said = message as FromReader
      if ('took' in said) room.give()
      else if ('refused' in said) throw new ImportError(said.refused.sentence, said.refused.line)
      else if ('end' in said) break
      else {
        yield { ...said.portion, records: recordsIn(said.portion.records) }
        worker.postMessage({ written: true } satisfies ToReader)
      }
    }
  } finally {
    room.close()
    await worker.terminate()
  }
  const broken = await fed
  if (broken) throw broken.error
}

const recordsIn = (texts: readonly string[]): Records => ({
  length: texts.length,
  at(index) {
    const text = texts[index]
    return text === undefined ? undefined : unpacked(text)
  },
})

/** Hands bytes to a thread; answers the error that they broke off with, if they did. */
async function feed(
  bytes: AsyncIterable<Uint8Array>,
  room: Room,
  worker: Worker,
): Promise<{ readonly error: unknown } | undefined> {
  const say = (message: ToReader) => worker.postMessage(message)
  try {
    for await (const chunk of bytes) {
      if (!(await room.take())) return undefined
      say({ bytes: new Uint8Array(chunk) })
    }
    say({ end: 'whole' })
    return undefined
  } catch (error) {
    say({ end: 'broken' })
    return { error }
  }
}
