import type { Connection } from './connection.js'

type Work = (connection: Connection) => unknown

interface Job {
  readonly work: Work
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

interface Failure {
  readonly error: unknown
}

type Outcome = { readonly value: unknown } | Failure

const isFailure = (outcome: Outcome): outcome is Failure => 'error' in outcome

/** What a lane needs of its one connection. `dirty` says whether anything was written since it was cleared. */
export interface Track {
  readonly connection: Connection
  /** Whether works run side by side: none of them writes, and statements need not wait for each other's answers. */
  readonly isTogether?: boolean
  begin(): Promise<void>
  commit(): void | Promise<void>
  rollback(): void | Promise<void>
  isDirty(): boolean
  clearDirty(): void
  /** What a transaction failed of, when this was the first that was heard of it. */
  cause?(error: unknown): unknown
  /**
   * Whether a group that failed with this for the so-many-th time may do better now, once that can be tried; undefined
   * where it is the fault of one of its works.
   */
  again?(error: unknown, failures: number): Promise<boolean> | undefined
}

/** A commit that may have been done: the works of its group are told so, and are not run again. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}

/** Lets one group at a time use a connection that several lanes share. */
export class Turn {
  #last: Promise<void> = Promise.resolve()

  /** Runs a group when those before it have ended; a group never rejects. */
  take(group: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(group)
    return this.#last
  }

  /** Does something between two groups. */
  between(act: () => unknown): Promise<void> {
    return new Promise((resolve, reject) => {
      void this.take(async () => {
        try {
          act()
          resolve()
        } catch (error) {
          reject(error)
        }
      })
    })
  }
}

/** Works that share one commit at most. */
const groupSize = 1_024

/**
 * Runs works on one connection one after the other, so that nothing ever runs between another work's BEGIN and
 * COMMIT. Works that are waiting together share a commit: with a durable database that is what makes many small
 * transactions affordable. A work that fails before it wrote anything fails alone; one that fails after writing
 * undoes the whole group, and the others run again, each in a transaction of its own.
 */
export class Lane {
  readonly #track: Track
  readonly #turn: Turn
  readonly #turns: number
  readonly #most: number
  #waiting: Job[] = []
  /** Promises of the named works that are waiting. */
  readonly #shared = new Map<string, Promise<unknown>>()
  #running = false
  #idle: (() => void)[] = []

  /**
   * `turns` of the event loop are waited for more works before a group runs. An idle loop turns in microseconds; under
   * load, a few turns bring the requests that are in earlier stages, and with them fewer and larger commits.
   */
  constructor(track: Track, turn: Turn, turns = 1, most = groupSize) {
    this.#track = track
    this.#turn = turn
    this.#turns = turns
    this.#most = most
  }

  /** Queues a work. It may be run more than once, so it must change nothing outside the connection. */
  run<T>(work: (connection: Connection) => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: never) => void, reject })
      this.#start()
    })
  }

  /** Queues a work unless one of the same name is waiting, whose answer then serves both. */
  share<T>(name: string, work: (connection: Connection) => T | Promise<T>): Promise<T> {
    const waiting = this.#shared.get(name)
    if (waiting) return waiting as Promise<T>
    const promise = this.run(work)
    this.#shared.set(name, promise)
    return promise
  }

  /** Works that wait, and one for those that run. */
  get load(): number {
    return this.#waiting.length + (this.#running ? 1 : 0)
  }

  isIdle(): boolean {
    return !this.#running
  }

  /** Resolves when nothing is waiting or running. */
  async drained(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #start(): void {
    if (this.#running) return
    this.#running = true
    this.#gather(this.#turns)
  }

  /** Whatever the next turns of the event loop bring joins the group. */
  #gather(turns: number): void {
    setImmediate(() => {
      if (turns > 1 && this.#waiting.length < this.#most) this.#gather(turns - 1)
      else void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const jobs = this.#waiting.splice(0, this.#most)
    this.#shared.clear()
    await this.#turn.take(async () => void (await this.#group(jobs)))
    this.#running = false
    if (this.#waiting.length > 0) this.#start()
    else for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Answers what kept it from its end, where that is no fault of its works: it would keep others from theirs too. */
  async #group(jobs: readonly Job[], failures = 0): Promise<Failure | undefined> {
    try {
      await this.#track.begin()
    } catch (error) {
      return await this.#failed(jobs, error, failures + 1)
    }
    let outcomes: readonly Outcome[] = []
    try {
      outcomes = this.#track.isTogether
        ? await Promise.all(jobs.map((job) => this.#attempt(job)))
        : await this.#inTurn(jobs)
      const last = this.#track.isTogether ? outcomes.find(isFailure) : outcomes.at(-1)
      if (last && isFailure(last) && this.#track.isDirty()) throw last.error
      const committed = this.#track.commit()
      if (committed instanceof Promise) await committed
    } catch (error) {
      if (error instanceof CommitUnknown) return await this.#doubted(jobs, outcomes, error)
      return await this.#failed(jobs, error, failures + 1, true)
    }
    jobs.forEach((job, at) => {
      settle(job, outcomes[at] as Outcome)
    })
  }

  /** What becomes of a group that did not come to its end. */
  async #failed(
    jobs: readonly Job[],
    error: unknown,
    failures: number,
    hasBegun = false,
  ): Promise<Failure | undefined> {
    if (hasBegun) await this.#undo()
    const cause = this.#track.cause?.(error) ?? error
    const again = this.#track.again?.(cause, failures)
    if (again && (await again)) return await this.#group(jobs, failures)
    if (!again && hasBegun && jobs.length > 1) return await this.#apart(jobs)
    for (const job of jobs) job.reject(again ? cause : error)
    return again && { error: cause }
  }

  /** One of them is to blame: they run again one by one, until something else is. */
  async #apart(jobs: readonly Job[]): Promise<Failure | undefined> {
    let failure: Failure | undefined
    for (const job of jobs)
      if (failure) job.reject(failure.error)
      else failure = await this.#group([job])
    return failure
  }

  /** A commit that may have been done: only those that refused have certainly changed nothing. */
  async #doubted(
    jobs: readonly Job[],
    outcomes: readonly Outcome[],
    error: CommitUnknown,
  ): Promise<undefined> {
    await this.#undo()
    jobs.forEach((job, at) => {
      const outcome = outcomes[at] as Outcome
      settle(job, isFailure(outcome) ? outcome : { error })
    })
  }

  /** The outcomes, up to one that failed after it wrote. */
  async #inTurn(jobs: readonly Job[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    for (const job of jobs) {
      const outcome = await this.#attempt(job)
      outcomes.push(outcome)
      if (isFailure(outcome) && this.#track.isDirty()) break
    }
    return outcomes
  }

  async #attempt(job: Job): Promise<Outcome> {
    this.#track.clearDirty()
    try {
      const value = job.work(this.#track.connection)
      return { value: value instanceof Promise ? await value : value }
    } catch (error) {
      return { error }
    }
  }

  /** What cannot be undone here is refused by the next BEGIN; the works that wait must be told either way. */
  async #undo(): Promise<void> {
    try {
      await this.#track.rollback()
    } catch {
      // The error that led here is the one to tell.
    }
  }
}

function settle(job: Job, outcome: Outcome): void {
  if (isFailure(outcome)) job.reject(outcome.error)
  else job.resolve(outcome.value as never)
}
