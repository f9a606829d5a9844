/** A kind of work: how a task is taken, and how it is done. */
export interface WorkKind<T> {
  /** Takes a task; `undefined` when there is none now. */
  take(): Promise<T | undefined>
  /** Returns how many things were done; one without it. */
  work(taken: T): Promise<number | undefined>
  readonly atOnce: number
  /** Receives errors; taking the task again is up to `take`. */
  readonly onTrouble: (error: unknown) => void
}

/** How often work of other processes is looked for, in milliseconds. */
const defaultPauseMs = 1_000

/** Does work of one kind: takes tasks one by one and runs them concurrently. */
export class WorkerPool<T> {
  readonly #event = new AutoResetEvent()
  readonly #under = new Set<Promise<void>>()
  #ended = 0
  #done = 0

  constructor(
    private readonly kind: WorkKind<T>,
    private readonly stopping: AbortSignal,
  ) {}

  /** Signals that there may be work now. */
  wake(): void {
    this.#event.set()
  }

  /** Works until it is stopped, or no tasks are left and `isOver` says that none will come. Returns how much was done. */
  async run(isOver: () => boolean): Promise<number> {
    while (!this.stopping.aborted) {
      // Read first: work that comes or ends during the look is looked at again.
      const [over, ended] = [isOver(), this.#ended]
      const taken =
        this.#under.size < this.kind.atOnce ? await this.#attempt(() => this.kind.take()) : undefined
      if (taken !== undefined) this.#begin(taken)
      else if (over && this.#under.size === 0 && this.#ended === ended) break
      else await this.#event.wait(defaultPauseMs)
    }
    await Promise.all(this.#under)
    return this.#done
  }

  async #attempt<R>(work: () => Promise<R>): Promise<R | undefined> {
    try {
      return await work()
    } catch (error) {
      this.kind.onTrouble(error)
      return undefined
    }
  }

  #begin(taken: T): void {
    const work = async () => {
      const done = await this.#attempt(() => this.kind.work(taken))
      this.#done += done ?? 1
    }
    const under = work().finally(() => {
      this.#under.delete(under)
      this.#ended++
      this.wake()
    })
    this.#under.add(under)
  }
}

/** Wakes the waiter. Without one, the next wait ends at once. */
export class AutoResetEvent {
  #isSet = false
  #wake: () => void = () => {}

  set(): void {
    this.#isSet = true
    this.#wake()
  }

  /** Resolves when the event is set, or after the time in milliseconds. */
  async wait(ms: number): Promise<void> {
    if (!this.#isSet)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#isSet = false
  }
}
