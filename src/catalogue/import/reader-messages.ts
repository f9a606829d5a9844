import type { Kind } from '../kinds/kind.js'
import type { Portion, PreparedRecord, ReadOptions } from './prepare.js'

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

/** What a reading thread says: that it took bytes, the next portion with its records packed, that there are no more, or why it cannot go on. */
export type FromReader =
  | { readonly took: true }
  | { readonly portion: Portion<readonly string[]> }
  | { readonly end: true }
  | { readonly refused: { readonly sentence: string; readonly line: number | undefined } }

/**
 * A record as one text, which costs two threads far less than what it says: its JSON, and on a line of its own the JSON
 * that its row holds already, which in a text of the first would be escaped and read once more.
 */
export function packed({ line, record }: PreparedRecord): string {
  if (!('row' in record)) return JSON.stringify({ line, record })
  const bare = { line, record: { ...record, row: { ...record.row, record: '' } } }
  return `${JSON.stringify(bare)}\n${record.row.record}`
}

/** The record in a text made by `packed`. */
export function unpacked(text: string): PreparedRecord {
  const end = text.indexOf('\n')
  if (end < 0) return JSON.parse(text) as PreparedRecord
  const bare = JSON.parse(text.slice(0, end)) as PreparedRecord
  if ('row' in bare.record) Object.assign(bare.record.row, { record: text.slice(end + 1) })
  return bare
}

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
