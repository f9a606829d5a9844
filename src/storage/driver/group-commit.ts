import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, findRow, isStorageFault, type StorageFault } from './connection.js'

type Task = (connection: Connection) => unknown

interface QueuedTask {
  readonly work: Task
  /** Tasks of the same scope run one after the other, others may run side by side. */
  readonly scope: string | undefined
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

interface Failure {
  readonly error: unknown
  /** Whether the task that failed had written. */
  readonly isDirty?: boolean
}

type TaskResult = { readonly value: unknown } | Failure

const isFailure = (result: TaskResult): result is Failure => 'error' in result

/** What a task of a transaction works with. */
export interface SessionTask {
  readonly connection: Connection
  /** Whether the task has written. */
  isDirty(): boolean
}

/** One connection with its transactions. */
export interface Session {
  /** Whether statements need not wait for each other, so that tasks of different scopes, and those without, run side by side. */
  readonly isConcurrent?: boolean
  /** Begins a transaction for tasks of some scopes. Resolves with those whose tasks have to run elsewhere, if any. */
  begin(scopes: ReadonlySet<string>): Promise<ReadonlySet<string> | undefined>
  /** Begins one more task of the transaction. */
  enter(): SessionTask
  commit(): void | Promise<void>
  rollback(): void | Promise<void>
  /** Returns the first error of a transaction, which may be behind this one. */
  cause?(error: unknown): unknown
  /** Resolves with whether a group should run again, once it can. `undefined` when one of its tasks caused the error. */
  retry?(error: unknown, failures: number): Promise<boolean> | undefined
}

/** Lets one group at a time use a connection that several queues share. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  /** Runs a group after those before it; a group never rejects. */
  run(group: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(group)
    return this.#last
  }

  /** Runs something while no group runs. */
  runAlone(act: () => unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      void this.run(() =>
        Promise.resolve()
          .then(act)
          .then(() => resolve(), reject),
      )
    })
  }
}

const groupSize = 1_024

/**
 * Group commit: runs tasks one after the other on one connection, so that nothing runs between another task's BEGIN
 * and COMMIT. Tasks that wait together share a commit, which makes many small durable transactions affordable. A task
 * that fails before it wrote anything fails alone. One that fails after writing undoes the whole group; the others
 * then run again, each in its own transaction (decision 4).
 */
export class CommitQueue {
  #waiting: QueuedTask[] = []
  /** Promises of the named tasks that are waiting. */
  readonly #shared = new Map<string, Promise<unknown>>()
  readonly #statements = new Map<string, number>()
  #running = false
  /** When the running group began, in seconds of this process. */
  #begunAt: number | undefined
  #idle: (() => void)[] = []

  /**
   * A group waits `turns` turns of the event loop for more tasks. An idle loop turns in microseconds. Under load, a few
   * turns let requests in earlier stages join, so that commits are fewer and larger.
   */
  constructor(
    private readonly session: Session,
    private readonly mutex: Mutex,
    private readonly turns = 1,
    private readonly most = groupSize,
    /** Returns the queue for tasks of a scope that the session did not begin. */
    private readonly elsewhere?: (scope: string) => CommitQueue,
  ) {}

  /** Queues a task. It may run more than once, so it must change nothing outside the connection. */
  run<T>(work: (connection: Connection) => T | Promise<T>, scope?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#push({ work, scope, resolve: resolve as (value: never) => void, reject })
    })
  }

  #push(task: QueuedTask): void {
    this.#waiting.push(task)
    this.#start()
  }

  /** Queues a task, or returns the result of a waiting one with the same name. */
  share<T>(name: string, work: (connection: Connection) => Awaitable<T>): Promise<T> {
    const waiting = this.#shared.get(name)
    if (waiting) return waiting as Promise<T>
    const promise = this.run(work)
    this.#shared.set(name, promise)
    return promise
  }

  /** Reads the row that a text identifies, or shares the answer to a waiting read of it. */
  find<T>(sql: string, text: string): Promise<T | undefined> {
    if (!this.#statements.has(sql)) this.#statements.set(sql, this.#statements.size)
    // A name with the whole statement would take 2 µs to hash, for each request.
    return this.share(`${this.#statements.get(sql)}\0${text}`, (connection) =>
      findRow<T>(connection, sql, text),
    )
  }

  /** Number of waiting tasks, plus one when a group is running. */
  get load(): number {
    return this.#waiting.length + (this.#running ? 1 : 0)
  }

  /** How long the running group has been running, in milliseconds; 0 without one. */
  get runningMs(): number {
    return this.#begunAt === undefined ? 0 : (process.uptime() - this.#begunAt) * 1_000
  }

  isIdle(): boolean {
    return !this.#running
  }

  /** Resolves when nothing is waiting or running. */
  async drain(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #start(): void {
    if (this.#running) return
    this.#running = true
    this.#gather(this.turns)
  }

  /** Tasks that arrive in the next turns of the event loop join the group. */
  #gather(turns: number): void {
    setImmediate(() => {
      if (turns > 1 && this.#waiting.length < this.most) this.#gather(turns - 1)
      else void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const tasks = this.#waiting.splice(0, this.most)
    this.#shared.clear()
    // `performance` would be loaded for it alone, which takes as long as a short command's transactions.
    this.#begunAt = process.uptime()
    await this.mutex.run(async () => void (await this.#runGroup(tasks)))
    this.#begunAt = undefined
    this.#running = false
    if (this.#waiting.length > 0) this.#start()
    else for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Returns the failure when none of the tasks caused it: it would make other groups fail too. */
  async #runGroup(given: readonly QueuedTask[], failures = 0): Promise<Failure | undefined> {
    let tasks = given
    try {
      const refused = await this.session.begin(scopesOf(given))
      if (refused) tasks = this.#passOn(given, refused)
    } catch (error) {
      return await this.#handleFailure(given, error, failures + 1)
    }
    let results: readonly TaskResult[] = []
    try {
      results = await this.#runAll(tasks)
      const undoing = results.find((result) => isFailure(result) && result.isDirty) as Failure | undefined
      if (undoing) throw undoing.error
      const committed = this.session.commit()
      if (committed instanceof Promise) await committed
    } catch (error) {
      if (isStorageFault(error, 'commit_unknown')) return await this.#settleUnknown(tasks, results, error)
      return await this.#handleFailure(tasks, error, failures + 1, true)
    }
    tasks.forEach((task, at) => {
      settle(task, results[at] as TaskResult)
    })
  }

  /** Has the tasks of some scopes run elsewhere; returns the others. */
  #passOn(tasks: readonly QueuedTask[], scopes: ReadonlySet<string>): readonly QueuedTask[] {
    return tasks.filter((task) => {
      const queue = task.scope !== undefined && scopes.has(task.scope) && this.elsewhere?.(task.scope)
      if (queue) queue.#push(task)
      return !queue
    })
  }

  /** Runs a failed group again, runs its tasks separately, or rejects them. */
  async #handleFailure(tasks: readonly QueuedTask[], error: unknown, failures: number, hasBegun = false) {
    if (hasBegun) await this.#rollback()
    const cause = this.session.cause?.(error) ?? error
    const retry = this.session.retry?.(cause, failures)
    if (retry && (await retry)) return await this.#runGroup(tasks, failures)
    if (!retry && hasBegun && tasks.length > 1) return await this.#runSeparately(tasks)
    for (const task of tasks) task.reject(retry ? cause : error)
    return retry && { error: cause }
  }

  /** Runs tasks again one by one because one of them failed; the rest fail too once the database itself does. */
  async #runSeparately(tasks: readonly QueuedTask[]): Promise<Failure | undefined> {
    let failure: Failure | undefined
    for (const task of tasks)
      if (failure) task.reject(failure.error)
      else failure = await this.#runGroup([task])
    return failure
  }

  /** Settles a commit that may have been done: only tasks that failed have certainly changed nothing. */
  async #settleUnknown(
    tasks: readonly QueuedTask[],
    results: readonly TaskResult[],
    error: StorageFault,
  ): Promise<undefined> {
    await this.#rollback()
    tasks.forEach((task, at) => {
      const result = results[at] as TaskResult
      settle(task, isFailure(result) ? result : { error })
    })
  }

  /** Returns the results in the order of the tasks, without those behind one that failed after it wrote. */
  async #runAll(tasks: readonly QueuedTask[]): Promise<TaskResult[]> {
    const results: TaskResult[] = []
    const runInOrder = async (places: Iterable<number>) => {
      for (const at of places) {
        const result = await this.#attempt(tasks[at] as QueuedTask)
        results[at] = result
        if (isFailure(result) && result.isDirty) return
      }
    }
    if (this.session.isConcurrent) await Promise.all(placesByScope(tasks).map(runInOrder))
    else await runInOrder(tasks.keys())
    return results.filter((result) => result !== undefined)
  }

  async #attempt({ work }: QueuedTask): Promise<TaskResult> {
    const task = this.session.enter()
    try {
      const value = work(task.connection)
      return { value: value instanceof Promise ? await value : value }
    } catch (error) {
      return { error, isDirty: task.isDirty() }
    }
  }

  /** A failed rollback makes the next BEGIN fail; the waiting tasks are settled either way. */
  async #rollback(): Promise<void> {
    try {
      await this.session.rollback()
    } catch {
      // The error that led here is the one to report.
    }
  }
}

/** Returns the places of the tasks that run one after the other: those of a scope, and each without one by itself. */
function placesByScope(tasks: readonly QueuedTask[]): number[][] {
  const all: number[][] = []
  const known = new Map<string, number[]>()
  for (const [at, { scope }] of tasks.entries()) {
    const places = scope === undefined ? undefined : known.get(scope)
    if (places) {
      places.push(at)
      continue
    }
    const first = [at]
    all.push(first)
    if (scope !== undefined) known.set(scope, first)
  }
  return all
}

const scopesOf = (tasks: readonly QueuedTask[]): ReadonlySet<string> =>
  new Set(tasks.flatMap(({ scope }) => scope ?? []))

function settle(task: QueuedTask, result: TaskResult): void {
  if (isFailure(result)) task.reject(result.error)
  else task.resolve(result.value as never)
}
