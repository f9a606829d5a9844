import { on } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Ids } from '../../engine/ports/ports.js'
import type { Kind } from '../kinds/kind.js'
import {
  asItIs,
  type Portion,
  type PreparedRecord,
  type ReadOptions,
  type Records,
  readFile,
} from './prepare.js'
import { ImportError } from './report.js'

/** A shorter file is read before a thread would have started. */
const longBytes = 2 * 1_048_576

/**
 * Reads a file like `readFile`: a long one in a thread of its own, so that the next records are read while the last
 * ones are written. Without the built program there is no such thread.
 */
export async function* readApart(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  ids: Ids,
): AsyncGenerator<Portion> {
  const program = threadProgram()
  const head = program === undefined ? undefined : await headOf(bytes)
  if (program === undefined || !head?.isLong)
    return yield* readFile(kind, head ? head.chunks : bytes, options, ids, asItIs)
  yield* readInThread(program, { kind, options }, head.chunks)
}

/** The program of the thread, beside the built program or above its parts. */
function threadProgram(): string | undefined {
  const places = ['./reader-worker.js', '../reader-worker.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return places.find((path) => existsSync(path))
}

/** Reads the beginning of a file, to tell whether it is long; `chunks` begin with it again, and end as the file does. */
async function headOf(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly isLong: boolean; readonly chunks: AsyncIterable<Uint8Array> }> {
  const rest = bytes[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let length = 0
  let broken: { readonly error: unknown } | undefined
  try {
    for (let step = await rest.next(); !step.done; step = await rest.next()) {
      head.push(step.value)
      length += step.value.length
      if (length >= longBytes) break
    }
  } catch (error) {
    broken = { error }
  }
  return { isLong: length >= longBytes, chunks: joined(head, broken, rest) }
}

async function* joined(
  head: readonly Uint8Array[],
  broken: { readonly error: unknown } | undefined,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* head
  if (broken) throw broken.error
  yield* { [Symbol.asyncIterator]: () => rest }
}

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

/** What a reading thread is to read. */
export interface ReadingTask {
  readonly kind: Kind
  readonly options: ReadOptions
}

/** What is said to a reading thread: the next bytes, that they end or break off, or that a portion was written. */
export type ToReader =
  | { readonly bytes: Uint8Array }
  | { readonly end: 'whole' | 'broken' }
  | { readonly written: true }

/** What a reading thread says: that it took bytes, the next portion with its records packed, that there are no more, or why it cannot go on. */
export type FromReader =
  | { readonly took: true }
  | { readonly portion: Portion<readonly string[]> }
  | { readonly end: true }
  | { readonly refused: { readonly sentence: string; readonly line: number | undefined } }

/**
 * A record as one text, which costs two threads far less than what it says: its JSON, and on a line of its own the JSON
 * that its row holds already, which in a text of the first would be escaped and read once more.
 */
export function packed({ line, record }: PreparedRecord): string {
  if (!('row' in record)) return JSON.stringify({ line, record })
  const bare = { line, record: { ...record, row: { ...record.row, record: '' } } }
  return `${JSON.stringify(bare)}\n${record.row.record}`
}

/** The record in a text made by `packed`. */
export function unpacked(text: string): PreparedRecord {
  const end = text.indexOf('\n')
  if (end < 0) return JSON.parse(text) as PreparedRecord
  const bare = JSON.parse(text.slice(0, end)) as PreparedRecord
  if ('row' in bare.record) Object.assign(bare.record.row, { record: text.slice(end + 1) })
  return bare
}

/** Lets so many pass, and then one more for each that is given back. */
export class Room {
  #free: number
  #waiting: (() => void) | undefined
  #closed = false

  constructor(size: number) {
    this.#free = size
  }

  /** Waits for a place and takes it; false when there will be none. */
  async take(): Promise<boolean> {
    if (this.#free === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    this.#free -= 1
    return !this.#closed
  }

  give(): void {
    this.#free += 1
    this.#waiting?.()
  }

  close(): void {
    this.#closed = true
    this.#waiting?.()
  }
}
