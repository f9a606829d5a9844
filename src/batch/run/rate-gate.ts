/** Real time, injected. */
export interface Time {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after so many milliseconds, or when the signal is given. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Lets calls pass, until one is told to wait: then all wait, on one timer. */
export class Gate {
  readonly #time: Time
  readonly #signal: AbortSignal
  #opensAt = 0
  #waiting: Promise<void> | undefined

  constructor(time: Time, signal: AbortSignal) {
    this.#time = time
    this.#signal = signal
  }

  /** Holds every call back for so many milliseconds from now. */
  close(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, this.#time.now() + ms)
    this.#waiting ??= this.#wait()
  }

  /** The moment calls may pass, or undefined when they may pass now. */
  get opens(): Promise<void> | undefined {
    return this.#waiting
  }

  async #wait(): Promise<void> {
    for (let ms = this.#left(); ms > 0; ms = this.#left()) await this.#time.sleep(ms, this.#signal)
    this.#waiting = undefined
  }

  #left(): number {
    return this.#signal.aborted ? 0 : this.#opensAt - this.#time.now()
  }
}
