import { csvRows } from './csv-rows.js'
import { decode } from './decode.js'
import type { ImportOptions } from './import.js'
import { jsonRows } from './json-rows.js'
import type { Given, Kind } from './kind.js'

/** One record of a file, or why it cannot be taken. `line` is where it begins, counted from 1. */
export type Row =
  | { readonly line: number; readonly given: Given }
  | { readonly line: number; readonly reason: string }

/** The rows of a file, in portions, and how its columns were understood. */
export interface Rows {
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
  readonly portions: AsyncIterable<readonly Row[]>
}

/** Rows that are handed on together. */
export const portion = 2_000

/** Opens a CSV or NDJSON file given as bytes. */
export async function openRows(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<Rows> {
  const { head, rest } = await peek(decode(bytes, options.encoding))
  const format = options.format ?? (/^\s*[{[]/.test(head) ? 'ndjson' : 'csv')
  return format === 'csv' ? csvRows(kind, head, rest, options) : jsonRows(kind, head, rest, options)
}

/** Reads enough of a text to tell what it is; `rest` begins with it again. */
async function peek(texts: AsyncGenerator<string>): Promise<{ head: string; rest: AsyncIterable<string> }> {
  let head = ''
  while (head.length < 65_536) {
    const next = await texts.next()
    if (next.done) break
    head += next.value
  }
  return { head, rest: joined(head, texts) }
}

async function* joined(head: string, texts: AsyncIterable<string>): AsyncGenerator<string> {
  yield head
  yield* texts
}
