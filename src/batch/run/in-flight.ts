/** Counts the calls that are under way, and tells of their ends; one at a time waits for them. */
export class Traffic {
  readonly #signal: AbortSignal
  #underWay = 0
  #wake: () => void = () => {}

  /** Nobody waits any more once the signal is given. */
  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake(), { once: true })
  }

  get underWay(): number {
    return this.#underWay
  }

  get isIdle(): boolean {
    return this.#underWay === 0
  }

  begin(): void {
    this.#underWay++
  }

  end(): void {
    this.#underWay--
    this.#wake()
  }

  /** Resolves when a call has ended, or none will be made any more. */
  async progress(): Promise<void> {
    if (this.#signal.aborted) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }
}
