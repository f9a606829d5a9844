import { rm } from 'node:fs/promises'
import { encoderFor } from '../../csv/encoding.js'
import type { Table } from '../input/table.js'
import { lineWriter, type OutputRow } from './format.js'
import type { Sink, Writer } from './sink.js'

/** What a file of rejected rows is like: the file that they come from, so that it can be read like that one. */
export type Original = Pick<Table, 'header' | 'encoding' | 'hasMark' | 'delimiter' | 'preamble'>

/** Rows that make no sense, put aside as they came. */
export interface Rejects {
  readonly count: number
  /** The complete file; null when it has none, or is not complete. */
  readonly file: string | null
  /** What is there of it where it was not completed. */
  readonly partial: string | null
  add(rows: readonly (readonly string[])[]): Promise<void>
  /** Completes the file; where nothing was rejected there is none, not even that of an earlier time. */
  finish(): Promise<void>
  /** Keeps what was put aside under the partial name. */
  abandon(): Promise<void>
}

/** Puts rows aside in a sink; `raw` leaves their cells as they are. */
export function rejectsTo(sink: Sink, original: Original, raw: boolean): Rejects {
  const line = lineWriter(original.delimiter, raw)
  const { mark, encode } = encoderFor(original.encoding, original.hasMark)
  let count = 0
  let end: 'complete' | 'partial' | undefined
  const discard = async () => {
    await sink.abandon()
    if (sink.partial !== undefined) await rm(sink.partial, { force: true })
  }
  return {
    get count() {
      return count
    },
    get file() {
      return end === 'complete' ? (sink.output ?? null) : null
    },
    get partial() {
      return end === 'partial' && count > 0 ? (sink.partial ?? null) : null
    },
    async add(rows) {
      if (rows.length === 0) return
      const head = count === 0 ? [mark, encode(original.preamble + line(original.header))] : []
      count += rows.length
      await sink.write(Buffer.concat([...head, encode(rows.map(line).join(''))]))
    },
    async finish() {
      if (count > 0) {
        await sink.finish()
        end = 'complete'
        return
      }
      await discard()
      if (sink.output !== undefined && sink.partial !== undefined) await rm(sink.output, { force: true })
    },
    async abandon() {
      // What has its name already keeps it.
      end ??= 'partial'
      await (count > 0 ? sink.abandon() : discard())
    },
  }
}

/** A writer that also puts aside the rows that are invalid. */
export const rejecting = (writer: Writer, rejects: Rejects): Writer => ({
  ...writer,
  async write(rows: readonly OutputRow[]) {
    await rejects.add(rows.filter(({ status }) => status === 'invalid').map(({ cells }) => cells))
    await writer.write(rows)
  },
  async finish() {
    await rejects.finish()
    await writer.finish()
  },
  async abandon() {
    await rejects.abandon()
    await writer.abandon()
  },
})
