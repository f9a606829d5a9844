import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { InputReader, ReadRequest } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { renameRequest, type WireNames } from '../api/calls/wire-names.js'
import { largeBytes, usualBody } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import { parseObject, readBody, readRequestOf, saysJson } from './body.js'
import type { BodyTask, performTask } from './body-thread.js'

/** How many bytes of large bodies are in memory at once: of one workspace, and of all. */
const maxHeld = { own: 40 * 1_048_576, all: 160 * 1_048_576 }

interface BodyOf {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  /** The words for `network` and `premium` in its field names, when they differ. */
  readonly names: WireNames | undefined
}

/** Reads the body of a request as fields, or refuses it with 415, 413, 400 or 503. */
export type BodyReader = (request: Request, of: BodyOf, reader: InputReader) => Promise<ReadRequest>

export function createBodyReader(threads: BodyThreads = createBodyThreads(), max = maxHeld): BodyReader {
  const held = new Map<string, number>()
  let all = 0
  const hold = (owner: string, bytes: number) => {
    all += bytes
    held.set(owner, (held.get(owner) ?? 0) + bytes)
    if (held.get(owner) === 0) held.delete(owner)
  }
  return async (request, { operation, params, names }, { owner, validates }) => {
    if (!saysJson(request.headers)) throw new ApiError('unsupported_media_type')
    const most = operation.body ?? usualBody
    let own = 0
    try {
      const bytes = await readBody(request, most.bytes, (size) => {
        const isFull = (held.get(owner) ?? 0) + size > max.own || all + size > max.all
        if (isFull) throw new ApiError('too_many_bodies', {}, { 'retry-after': '1' })
        own = size
        hold(owner, own)
      })
      if (bytes.length > largeBytes) {
        const of = { operation: operation.id, params, names, validates }
        return readRequestOf(await threads.parse({ kind: 'request', bytes, ...of }))
      }
      const parsed = parseObject(bytes, most)
      return { input: { ...(names ? (renameRequest(parsed, names) as typeof parsed) : parsed), ...params } }
    } finally {
      if (own > 0) hold(owner, -own)
    }
  }
}

/** A thread without work ends after this time, and its memory is free again. */
const idleMs = 10_000

/** Parses large bodies beside the event loop. */
export interface BodyThreads {
  readonly parse: typeof performTask
}

/** Creates the threads, which start with the first body. Without their program bodies are parsed in this thread. */
export function createBodyThreads(program = findProgram(), max = maxThreads()): BodyThreads {
  if (program === undefined)
    return {
      parse: (task) =>
        import('./body-thread.js').then(({ performTask }) => performTask(task)) as Promise<never>,
    }
  const threads = new Set<Thread>()
  const start = () => {
    const thread = startThread(program, () => threads.delete(thread))
    threads.add(thread)
    return thread
  }
  return {
    parse: (task) => {
      const [first] = [...threads].sort((a, b) => a.load() - b.load())
      const isFree = first && (first.load() === 0 || threads.size >= max)
      return (isFree ? first : start()).run(task) as Promise<never>
    },
  }
}

/** One large body at a time leaves a core to the event loop. */
const maxThreads = (): number => Math.min(2, Math.max(1, availableParallelism() - 1))

/** Returns the path of the threads' program: beside the built program, or one folder above its chunks. */
function findProgram(): string | undefined {
  const paths = ['./body-thread.js', '../body-thread.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return paths.find((path) => existsSync(path))
}

type Thread = ReturnType<typeof startThread>

/** Starts a thread, which answers its tasks in their order. */
function startThread(program: string, ended: () => void) {
  const worker = new Worker(program)
  const waiting: PromiseWithResolvers<unknown>[] = []
  let idle: NodeJS.Timeout | undefined
  worker.unref()
  worker.on('message', (result) => {
    waiting.shift()?.resolve(result)
    if (waiting.length === 0) idle = setTimeout(end, idleMs).unref()
  })
  worker.on('error', (error) => {
    ended()
    for (const { reject } of waiting.splice(0)) reject(error)
  })
  const end = () => {
    ended()
    void worker.terminate()
  }
  return {
    load: () => waiting.length,
    run: (task: BodyTask): Promise<unknown> => {
      clearTimeout(idle)
      const result = Promise.withResolvers<unknown>()
      waiting.push(result)
      worker.postMessage(task)
      return result.promise
    },
  }
}
