import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { BodyTask, performTask } from './body-thread.js'

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
