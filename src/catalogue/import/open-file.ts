import { decode, detectEncoding, sampleOf } from '../../csv/encoding.js'
import { detectDialect, readRows } from '../../csv/read.js'
import type { ImportOptions, InputRows, RecordKind } from '../kinds/kind.js'
import { readCsvRows } from './csv.js'
import { readJsonRows } from './ndjson.js'

/** Opens a CSV or NDJSON file, and recognises its format, encoding and delimiter. */
export async function openFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<InputRows> {
  const { head, chunks } = await peek(bytes)
  const encoding = detectEncoding(head, options.encoding)
  const sample = sampleOf(head, encoding)
  const format = options.format ?? (/^\s*[{[]/.test(sample) ? 'ndjson' : 'csv')
  if (format === 'ndjson') return readJsonRows(kind, sample, toTexts(decode(chunks, encoding)), options)
  return readCsvRows(kind, readRows(chunks, encoding, detectDialect(sample), { looseQuotes: true }), options)
}

/** How much of a file is read to recognise it. */
const sampleBytes = 65_536

/** Reads the beginning of a file; `chunks` include it again. */
async function peek(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ head: Buffer; chunks: AsyncIterable<Buffer> }> {
  const chunks = toBuffers(bytes)
  const first: Buffer[] = []
  for (let read = 0; read < sampleBytes; ) {
    const { value, done } = await chunks.next()
    if (done) break
    first.push(value)
    read += value.length
  }
  const head = Buffer.concat(first)
  return { head, chunks: prepend(head, chunks) }
}

async function* toBuffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, undefined> {
  for await (const { buffer, byteOffset, length } of bytes) yield Buffer.from(buffer, byteOffset, length)
}

async function* prepend(head: Buffer, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head
  yield* chunks
}

async function* toTexts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const piece of pieces) yield piece.toString()
}
