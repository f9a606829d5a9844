import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Ids } from '../../engine/ports/ports.js'
import type { Kind } from '../kinds/kind.js'
import { asItIs, type Portion, type ReadOptions, readFile } from './prepare.js'

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
  const { readInThread } = await import('./read-in-thread.js')
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
