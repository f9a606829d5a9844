import type { Kind } from './kind.js'
import type { Portion, ReadOptions } from './reading.js'

/** What a reading thread is to read. */
export interface ReadingTask {
  readonly kind: Kind
  readonly options: ReadOptions
}

/** What is said to a reading thread: the next bytes, that they end or break off, or that a portion was written. */
export type ToReader =
  | { readonly bytes: Uint8Array }
  | { readonly end: 'whole' | 'broken' }
  | { readonly written: true }

/** What a reading thread says: that it took bytes, the next portion with its records in JSON, that there are no more, or why it cannot go on. */
export type FromReader =
  | { readonly took: true }
  | { readonly portion: Portion<readonly string[]> }
  | { readonly end: true }
  | { readonly refused: { readonly sentence: string; readonly line: number | undefined } }

/** Lets so many pass, and then one more for each that is given back. */
export class Room {
  #free: number
  #waiting: (() => void) | undefined
  #closed = false

  constructor(size: number) {
    this.#free = size
  }

  /** Waits for a place and takes it; false when there will be none. */
  async take(): Promise<boolean> {
    if (this.#free === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    this.#free -= 1
    return !this.#closed
  }

  give(): void {
    this.#free += 1
    this.#waiting?.()
  }

  close(): void {
    this.#closed = true
    this.#waiting?.()
  }
}
