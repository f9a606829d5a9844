/** A kind of work: how it is taken up, and how it is done. */
export interface WorkKind<T> {
  /** Takes up a piece of work; nothing when there is none now. */
  take(): Promise<T | undefined>
  work(taken: T): Promise<void>
  /** How many pieces are under way side by side. */
  readonly atOnce: number
  /** What takes longer gives up its place, so that what is quick need not wait for it; in milliseconds. */
  readonly slowMs?: number
  /** How many are under way even so. */
  readonly most?: number
  /** Told of what failed; who takes it up again, and when, is not the crew's business. */
  readonly onTrouble: (error: unknown) => void
}

/** How often work of other processes is looked for, in milliseconds. */
const usualPauseMs = 1_000

/** Does work of one kind: takes it up piece by piece and does it side by side. */
export class WorkerPool<T> {
  readonly #kind: WorkKind<T>
  readonly #stopping: AbortSignal
  readonly #event = new AutoResetEvent()
  readonly #under = new Set<Promise<void>>()
  #quick = 0
  #ended = 0

  constructor(kind: WorkKind<T>, stopping: AbortSignal) {
    this.#kind = kind
    this.#stopping = stopping
  }

  /** There may be work now. */
  wake(): void {
    this.#event.set()
  }

  /**
   * Works until it is stopped, or until nothing is left and `isOver` says that nothing more will come. Answers how many
   * pieces that were.
   */
  async run(isOver: () => boolean): Promise<number> {
    while (!this.#stopping.aborted) {
      // What comes or ends while it looks is looked at again.
      const [over, ended] = [isOver(), this.#ended]
      const taken = this.#hasSlot() ? await this.#take() : undefined
      if (taken !== undefined) this.#begin(taken)
      else if (over && this.#under.size === 0 && this.#ended === ended) break
      else await this.#event.wait(usualPauseMs)
    }
    await Promise.all(this.#under)
    return this.#ended
  }

  #hasSlot(): boolean {
    const { atOnce, most = atOnce } = this.#kind
    return this.#quick < atOnce && this.#under.size < most
  }

  async #take(): Promise<T | undefined> {
    try {
      return await this.#kind.take()
    } catch (error) {
      this.#kind.onTrouble(error)
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
      await this.#kind.work(taken)
    } catch (error) {
      this.#kind.onTrouble(error)
    }
  }

  /** Takes a place; it is given up when it is left, or when the work turns out to be slow. */
  #takeSlot(): () => void {
    const { slowMs } = this.#kind
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

/** Wakes whoever sleeps; one that rings while nobody does is heard by whoever lies down next. */
export class AutoResetEvent {
  #isSet = false
  #wake: () => void = () => {}

  set(): void {
    this.#isSet = true
    this.#wake()
  }

  /** Resolves when it rings, or after the time in milliseconds. */
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
