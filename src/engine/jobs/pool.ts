/** A kind of work: how a task is taken, and how it is done. */
export interface WorkKind<T> {
  /** Takes a task; `undefined` when there is none now. */
  take(): Promise<T | undefined>
  work(taken: T): Promise<void>
  readonly atOnce: number
  /** A task that takes longer, in milliseconds, gives up its slot, so that quick ones need not wait for it. */
  readonly slowMs?: number
  /** Most tasks in progress, slow ones included. */
  readonly most?: number
  /** Receives errors; taking the task again is up to `take`. */
  readonly onTrouble: (error: unknown) => void
}

/** How often work of other processes is looked for, in milliseconds. */
const defaultPauseMs = 1_000

/** Does work of one kind: takes tasks one by one and runs them concurrently. */
export class WorkerPool<T> {
  readonly #event = new AutoResetEvent()
  readonly #under = new Set<Promise<void>>()
  #quick = 0
  #ended = 0

  constructor(
    private readonly kind: WorkKind<T>,
    private readonly stopping: AbortSignal,
  ) {}

  /** Signals that there may be work now. */
  wake(): void {
    this.#event.set()
  }

  /**
   * Works until it is stopped, or until there are no tasks and `isOver` says that none will come. Returns how many
   * tasks ended.
   */
  async run(isOver: () => boolean): Promise<number> {
    while (!this.stopping.aborted) {
      // Read first: work that comes or ends during the look is looked at again.
      const [over, ended] = [isOver(), this.#ended]
      const taken = this.#hasSlot() ? await this.#take() : undefined
      if (taken !== undefined) this.#begin(taken)
      else if (over && this.#under.size === 0 && this.#ended === ended) break
      else await this.#event.wait(defaultPauseMs)
    }
    await Promise.all(this.#under)
    return this.#ended
  }

  #hasSlot(): boolean {
    const { atOnce, most = atOnce } = this.kind
    return this.#quick < atOnce && this.#under.size < most
  }

  async #take(): Promise<T | undefined> {
    try {
      return await this.kind.take()
    } catch (error) {
      this.kind.onTrouble(error)
      return undefined
    }
  }

  #begin(taken: T): void {
    const leave = this.#takeSlot()
    const under = this.#do(taken).finally(() => {
      leave()
      this.#under.delete(under)
      this.#ended++
      this.wake()
    })
    this.#under.add(under)
  }

  async #do(taken: T): Promise<void> {
    try {
      await this.kind.work(taken)
    } catch (error) {
      this.kind.onTrouble(error)
    }
  }

  /** Takes a slot. It is given up when the task ends, or when it turns out to be slow. */
  #takeSlot(): () => void {
    const { slowMs } = this.kind
    this.#quick++
    let has = true
    const leave = () => {
      clearTimeout(slow)
      if (has) this.#quick--
      has = false
    }
    const giveUp = () => {
      leave()
      this.wake()
    }
    const slow = slowMs === undefined ? undefined : setTimeout(giveUp, slowMs)
    return leave
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
