/** Wakes whoever sleeps; one that rings while nobody does is heard by whoever lies down next. */
export class Alarm {
  #isRinging = false
  #wake: () => void = () => {}

  ring(): void {
    this.#isRinging = true
    this.#wake()
  }

  /** Resolves when it rings, or after the time in milliseconds. */
  async rung(ms: number): Promise<void> {
    if (!this.#isRinging)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#isRinging = false
  }
}
