/** Lets so many pieces of work be under way at once; the others wait in their order. */
export class Places {
  #free: number
  readonly #line: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#line.push(resolve))
    try {
      return await work()
    } finally {
      // Whoever waits takes the place over.
      const next = this.#line.shift()
      if (next) next()
      else this.#free++
    }
  }
}
