import { csvRows } from './csv-rows.js'
import { decode } from './decode.js'
import type { ImportOptions } from './import-options.js'
import { jsonRows } from './json-rows.js'
import type { Kind } from './kind.js'
import type { Rows } from './row.js'

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
