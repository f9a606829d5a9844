import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ApiError } from '../api/calls/errors.js'
import { buffersIn } from '../api/values/bytes.js'
import type { BodyTask, BodyTaskResult } from './body-tasks.js'

/** Maximum memory of a thread in MiB, of which the largest permitted body takes a third. */
const mostMemoryMb = 768
/** A thread without work ends after this time, and its memory is free again. */
const idleMs = 10_000

interface Job {
  readonly task: BodyTask
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** Parses large bodies beside the event loop. */
export interface BodyThreads {
  /** Parses a body in the turn of its owner, and takes its bytes. It is given up when the signal aborts. */
  parse<T extends BodyTask>(task: T, owner: string, signal?: AbortSignal): Promise<BodyTaskResult<T>>
}

/** Creates the threads, which start with the first body. Without their program bodies are parsed in this thread. */
export function createBodyThreads(program = findProgram(), most = threadCount()): BodyThreads {
  if (program === undefined) {
    const tasks = import('./body-tasks.js')
    return { parse: (task) => tasks.then(({ performTask }) => performTask(task)) as Promise<never> }
  }
  const waiting = new Map<string, Job[]>()
  const idle: Thread[] = []
  const running = new Map<Job, Thread>()
  let count = 0
  const next = () => {
    while (idle.at(-1)?.isOver) idle.pop()
    const job = idle.length > 0 || count < most ? takeTurn(waiting) : undefined
    if (!job) return
    let thread = idle.pop()
    if (!thread) {
      count++
      thread = startThread(program, () => count--)
    }
    void work(thread, job)
  }
  const work = async (thread: Thread, job: Job) => {
    running.set(job, thread)
    await thread.run(job)
    running.delete(job)
    if (!thread.isOver) idle.push(thread)
    next()
  }
  return {
    parse: (task, owner, signal) =>
      new Promise((resolve, reject) => {
        const job: Job = { task, resolve, reject }
        const giveUp = () => {
          const jobs = waiting.get(owner)?.filter((one) => one !== job) ?? []
          if (jobs.length > 0) waiting.set(owner, jobs)
          else waiting.delete(owner)
          reject(new ApiError('bad_request', { reason: 'The request was given up' }))
          running.get(job)?.end()
        }
        if (signal?.aborted) return giveUp()
        signal?.addEventListener('abort', giveUp, { once: true })
        waiting.set(owner, [...(waiting.get(owner) ?? []), job])
        next()
      }),
  }
}

/** One large body at a time leaves a core to the event loop. */
const threadCount = (): number => Math.min(2, Math.max(1, availableParallelism() - 1))

/** Returns the path of the threads' program: beside the built program, or one folder above its chunks. */
function findProgram(): string | undefined {
  const paths = ['./body-thread.js', '../body-thread.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return paths.find((path) => existsSync(path))
}

/** Takes the first job of the owner who has waited longest, and puts the owner last. */
function takeTurn(waiting: Map<string, Job[]>): Job | undefined {
  for (const [owner, [job, ...others]] of waiting) {
    waiting.delete(owner)
    if (others.length > 0) waiting.set(owner, others)
    return job
  }
  return undefined
}

type Thread = ReturnType<typeof startThread>

function startThread(program: string, over: () => void) {
  const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: mostMemoryMb } })
  let isOver = false
  let current: { readonly job: Job; readonly done: () => void } | undefined
  let timer: NodeJS.Timeout | undefined
  const settle = (how: (job: Job) => void) => {
    if (!current) return
    const { job, done } = current
    current = undefined
    how(job)
    done()
  }
  const end = () => {
    if (isOver) return
    isOver = true
    over()
    void worker.terminate()
    settle(({ reject }) => reject(new ApiError('too_many_bodies', {}, { 'retry-after': '1' })))
  }
  worker.unref()
  worker.on('message', (result) => settle(({ resolve }) => resolve(result as never)))
  worker.on('error', end)
  worker.on('exit', end)
  return {
    get isOver() {
      return isOver
    },
    end,
    /** Resolves when the job is done or has failed. */
    run: (job: Job): Promise<void> =>
      new Promise((resolve) => {
        clearTimeout(timer)
        if (isOver) {
          job.reject(new ApiError('too_many_bodies', {}, { 'retry-after': '1' }))
          return resolve()
        }
        const done = () => {
          timer = setTimeout(end, idleMs).unref()
          resolve()
        }
        current = { job, done }
        worker.postMessage(job.task, buffersIn(job.task))
      }),
  }
}
