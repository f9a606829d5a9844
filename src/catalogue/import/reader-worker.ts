import { randomBytes, randomUUID } from 'node:crypto'
import { on } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { readFile } from './prepare.js'
import { type FromReader, packed, type ReadingTask, Room, type ToReader } from './reader.js'
import { ImportError } from './report.js'

/** Portions that are read but not yet written, at most. */
const portionsAhead = 2

/** Reads a file whose bytes come in messages, and says its portions, as far ahead as they are written. */
async function readThere(port: MessagePort, { kind, options }: ReadingTask): Promise<void> {
  const say = (message: FromReader) => port.postMessage(message)
  const chunks = chunksFrom(on(port, 'message'), () => say({ took: true }))
  const room = new Room(portionsAhead)
  port.on('message', (said: ToReader) => {
    if ('written' in said) room.give()
  })
  const ids = { uuid: randomUUID, bytes: randomBytes }
  try {
    for await (const portion of readFile(kind, chunks, options, ids, packed)) {
      say({ portion })
      await room.take()
    }
    say({ end: true })
  } catch (error) {
    if (error instanceof BrokenOff) say({ end: true })
    else if (error instanceof ImportError) say({ refused: { sentence: error.sentence, line: error.line } })
    else throw error
  }
}

/** The bytes broke off; the one who sent them knows why. */
class BrokenOff extends Error {}

async function* chunksFrom(messages: AsyncIterable<unknown[]>, took: () => void): AsyncGenerator<Uint8Array> {
  for await (const [message] of messages) {
    const said = message as ToReader
    if ('end' in said && said.end === 'broken') throw new BrokenOff()
    if ('end' in said) return
    if (!('bytes' in said)) continue
    took()
    yield said.bytes
  }
}

if (parentPort) await readThere(parentPort, workerData as ReadingTask)
