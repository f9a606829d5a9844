/** A line between one who puts in and one who takes out; a full one makes the first wait, an empty one the second. */
export class Queue<T> {
  readonly #limit: number
  #items: T[] = []
  #ended = false
  #wake: () => void = () => {}

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Puts an item in when there is room. */
  async put(item: T): Promise<void> {
    while (this.#items.length >= this.#limit) await this.#change()
    this.#items.push(item)
    this.#changed()
  }

  /** Says that nothing more comes. */
  end(): void {
    this.#ended = true
    this.#changed()
  }

  /** The first item, which stays and takes up room until `drop`; undefined when nothing more comes. */
  async first(): Promise<T | undefined> {
    while (this.#items.length === 0 && !this.#ended) await this.#change()
    return this.#items[0]
  }

  drop(): void {
    this.#items.shift()
    this.#changed()
  }

  // The two sides never wait at once: one waits for room, the other for items.
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #changed(): void {
    this.#wake()
  }
}
