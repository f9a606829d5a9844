import { on } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Details, type LocalCode, Refusal } from '../../api/calls/errors.js'
import type { Ids } from '../../api/ports/ports.js'
import type { ImportOptions, RecordKind } from '../kinds/kind.js'
import { readHead } from './open-file.js'
import { keepAsIs, type PreparedBatch, type PreparedRecord, prepareFile, type RecordList } from './prepare.js'

/** Size from which a file is read in a worker thread. A smaller one is read before the worker would have started. */
const workerMinBytes = 2 * 1_048_576

/** Maximum number of chunks that wait in the worker: enough to continue while a transaction blocks this thread. */
const maxQueuedChunks = 8

export interface ReaderTask {
  readonly kind: RecordKind
  /** Without functions. */
  readonly options: ImportOptions
}

/** A message to the worker: the next bytes, their end (complete or broken off), or that a batch was written. */
export type MessageToReader =
  | { readonly bytes: Uint8Array }
  | { readonly end: 'complete' | 'broken' }
  | { readonly written: true }

/** A message from the worker: it took bytes, read the next batch, reached the end, or cannot read on. */
export type MessageFromReader =
  | { readonly taken: true }
  | { readonly batch: PreparedBatch<readonly string[]> }
  | { readonly end: true }
  | { readonly refusal: LocalCode; readonly details: Details }

/** Reads a file like `prepareFile`; a large one in a worker thread of the built program, while the last records are written. */
export async function* readBatches(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  { onProgress, onRejected, withoutSuppressed, ...options }: ImportOptions,
  ids: Ids,
): AsyncGenerator<PreparedBatch> {
  const program = findWorkerProgram()
  const head = program === undefined ? undefined : await readHead(bytes, workerMinBytes)
  if (program === undefined || !head?.hasMore)
    return yield* prepareFile(kind, head ? head.chunks : bytes, options, ids, keepAsIs)
  yield* readInWorker(program, { kind, options }, head.chunks)
}

/** Returns the path of the worker's program: beside the built program, or one folder above its chunks. */
function findWorkerProgram(): string | undefined {
  const paths = ['./reader-worker.js', '../reader-worker.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return paths.find((path) => existsSync(path))
}

/** Reads a file in a worker thread. Batches before an error come first, also when the bytes themselves fail. */
export async function* readInWorker(program: string, task: ReaderTask, bytes: AsyncIterable<Uint8Array>) {
  const worker = new Worker(program, { workerData: task })
  const queue = new Semaphore(maxQueuedChunks)
  const messages = on(worker, 'message')
  const sent = sendChunks(bytes, queue, worker)
  try {
    for await (const [value] of messages) {
      const message = value as MessageFromReader
      if ('taken' in message) queue.release()
      else if ('refusal' in message) throw new Refusal(message.refusal, message.details)
      else if ('end' in message) break
      else {
        yield { ...message.batch, records: toRecordList(message.batch.records) }
        worker.postMessage({ written: true } satisfies MessageToReader)
      }
    }
  } finally {
    queue.close()
    await worker.terminate()
  }
  const failure = await sent
  if (failure) throw failure.error
}

const toRecordList = (texts: readonly string[]): RecordList => ({
  length: texts.length,
  slice: (from, to) => texts.slice(from, to).map(unpackRecord),
})

/** Sends bytes to the worker; returns the error that they broke off with. */
async function sendChunks(bytes: AsyncIterable<Uint8Array>, queue: Semaphore, worker: Worker) {
  const post = (message: MessageToReader) => worker.postMessage(message)
  try {
    for await (const chunk of bytes) {
      if (!(await queue.acquire())) return undefined
      post({ bytes: new Uint8Array(chunk) })
    }
    post({ end: 'complete' })
    return undefined
  } catch (error) {
    post({ end: 'broken' })
    return { error }
  }
}

/** Packs a record into one text, which passes between threads far faster. The JSON of its row is not escaped again. */
export function packRecord(prepared: PreparedRecord): string {
  const { record } = prepared
  if (!('row' in record)) return JSON.stringify(prepared)
  const { record: json } = record.row
  // Copies without it would take as long as the rest of packing.
  Object.assign(record.row, { record: '' })
  const bare = JSON.stringify(prepared)
  Object.assign(record.row, { record: json })
  return `${bare}\n${json}`
}

function unpackRecord(text: string): PreparedRecord {
  const end = text.indexOf('\n')
  if (end < 0) return JSON.parse(text) as PreparedRecord
  const bare = JSON.parse(text.slice(0, end)) as PreparedRecord
  if ('row' in bare.record) Object.assign(bare.record.row, { record: text.slice(end + 1) })
  return bare
}

/** A counting semaphore for one waiter. */
export class Semaphore {
  #waiting: (() => void) | undefined
  #closed = false

  constructor(private free: number) {}

  /** Waits for a permit and takes it; false after `close`. */
  async acquire(): Promise<boolean> {
    if (this.free === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    this.free -= 1
    return !this.#closed
  }

  release(): void {
    this.free += 1
    this.#waiting?.()
  }

  close(): void {
    this.#closed = true
    this.#waiting?.()
  }
}
