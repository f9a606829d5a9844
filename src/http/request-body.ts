import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
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

export function createBodyReader(thread: BodyThread = createBodyThread(), max = maxHeld): BodyReader {
  const held = new Map<string, number>()
  let all = 0
  let turn: Promise<unknown> = Promise.resolve()
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
        const read = readRequestOf(await thread.parse({ kind: 'request', bytes, ...of }))
        // What is done with so many values has a turn of the event loop of its own, however many bodies come at once.
        turn = turn.then(() => nextTurn())
        await turn
        return read
      }
      const parsed = parseObject(bytes, most)
      return { input: { ...(names ? (renameRequest(parsed, names) as typeof parsed) : parsed), ...params } }
    } finally {
      if (own > 0) hold(owner, -own)
    }
  }
}

/** Parses large bodies beside the event loop. */
export interface BodyThread {
  readonly parse: typeof performTask
}

/** Creates the thread, which starts with the first body. Without its program bodies are parsed in this thread. */
export function createBodyThread(program = findProgram()): BodyThread {
  let run: ReturnType<typeof startThread> | undefined
  const parse = async (task: BodyTask): Promise<unknown> => {
    if (program === undefined) return (await import('./body-thread.js')).performTask(task)
    run ??= startThread(program, () => {
      run = undefined
    })
    return run(task)
  }
  return { parse: parse as typeof performTask }
}

/** Returns the path of the thread's program: beside the built program, or one folder above its chunks. */
function findProgram(): string | undefined {
  const paths = ['./body-thread.js', '../body-thread.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return paths.find((path) => existsSync(path))
}

/** Starts a thread, and returns the function that does tasks in it, in their order. */
function startThread(program: string, ended: () => void): (task: BodyTask) => Promise<unknown> {
  const worker = new Worker(program)
  const waiting: PromiseWithResolvers<unknown>[] = []
  worker.on('message', (result) => waiting.shift()?.resolve(result))
  worker.on('error', (error) => {
    ended()
    for (const { reject } of waiting.splice(0)) reject(error)
  })
  // Last, because adding a listener for messages keeps the process running again.
  worker.unref()
  return (task) => {
    const result = Promise.withResolvers<unknown>()
    waiting.push(result)
    worker.postMessage(task)
    return result.promise
  }
}
