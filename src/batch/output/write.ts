import type { Format } from './format.js'
import type { OutputRow } from './layout.js'
import type { Sink } from './sink.js'

/** Writes the rows of a run; failures are OutputErrors. */
export interface Writer {
  readonly output: string | undefined
  readonly partial: string | undefined
  write(rows: readonly OutputRow[]): Promise<void>
  /** After the last row: the output is complete. */
  finish(): Promise<void>
  /** After a run that stopped: what was written is kept. */
  abandon(): Promise<void>
}

/** Writes rows in a format to a sink. */
export function createWriter(sink: Sink, format: Format): Writer {
  let begun = false
  const begin = () => {
    const head = begun ? '' : format.head
    begun = true
    return head
  }
  return {
    output: sink.output,
    partial: sink.partial,
    write: (rows) => sink.write(begin() + format.rows(rows)),
    async finish() {
      await sink.write(begin() + format.tail)
      await sink.finish()
    },
    async abandon() {
      // The format's end is left out on purpose: the output is not complete.
      await sink.abandon()
    },
  }
}
