import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Ids } from '../engine/ports.js'
import type { Kind } from './kind.js'
import { type Portion, type ReadOptions, readFile } from './reading.js'

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
  const thread = threadFile()
  const { isLong, chunks } = await measured(bytes)
  if (!thread || !isLong) return yield* readFile(kind, chunks, options, ids)
  const { readInThread } = await import('./read-in-thread.js')
  yield* readInThread(thread, { kind, options }, chunks)
}

/** The program of the thread, beside the built program or above its parts. */
function threadFile(): string | undefined {
  const places = ['./reading-thread.js', '../reading-thread.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return places.find((path) => existsSync(path))
}

/** Reads the beginning of a file, to tell whether it is long; `chunks` begin with it again, and end as it does. */
async function measured(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ isLong: boolean; chunks: AsyncIterable<Uint8Array> }> {
  const steps = bytes[Symbol.asyncIterator]()
  const first: Promise<IteratorResult<Uint8Array>>[] = []
  let read = 0
  while (read < longBytes) {
    const step = steps.next()
    first.push(step)
    const length = await step.then(
      ({ value, done }) => (done ? undefined : value.length),
      () => undefined,
    )
    if (length === undefined) break
    read += length
  }
  const next = () => first.shift() ?? steps.next()
  const chunks = { [Symbol.asyncIterator]: () => ({ next, return: () => steps.return?.() ?? ended() }) }
  return { isLong: read >= longBytes, chunks }
}

const ended = async () => ({ value: undefined, done: true }) as const
