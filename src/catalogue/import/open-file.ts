import { decode, detectEncoding, sampleOf } from '../../csv/encoding.js'
import { detectDialect, readRows } from '../../csv/read.js'
import type { ImportOptions, Kind, Rows } from '../kinds/kind.js'
import { csvRows } from './csv.js'
import { jsonRows } from './ndjson.js'

/** Opens a CSV or NDJSON file given as bytes. */
export async function openRows(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<Rows> {
  const { head, chunks } = await peek(bytes)
  const encoding = detectEncoding(head, options.encoding)
  const sample = sampleOf(head, encoding)
  const format = options.format ?? (/^\s*[{[]/.test(sample) ? 'ndjson' : 'csv')
  if (format === 'ndjson') return jsonRows(kind, sample, textsOf(decode(chunks, encoding)), options)
  return csvRows(kind, readRows(chunks, encoding, detectDialect(sample), { looseQuotes: true }), options)
}

/** As much of a file as tells what it is. */
const sampleBytes = 65_536

/** Reads the beginning of a file; `chunks` begin with it again. */
async function peek(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ head: Buffer; chunks: AsyncIterable<Buffer> }> {
  const chunks = buffers(bytes)
  const first: Buffer[] = []
  for (let read = 0; read < sampleBytes; ) {
    const { value, done } = await chunks.next()
    if (done) break
    first.push(value)
    read += value.length
  }
  const head = Buffer.concat(first)
  return { head, chunks: joined(head, chunks) }
}

async function* buffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, undefined> {
  for await (const { buffer, byteOffset, length } of bytes) yield Buffer.from(buffer, byteOffset, length)
}

async function* joined(head: Buffer, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head
  yield* chunks
}

async function* textsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const piece of pieces) yield piece.toString()
}
