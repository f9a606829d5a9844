import { detectEncoding, encodingSampleBytes } from '../../csv/detect-encoding.js'
import { checkCsv, checkText, decode, detectDelimiter, sampleOf } from '../../csv/encoding.js'
import { readRows } from '../../csv/parse.js'
import type { ImportOptions, InputRows, RecordKind } from '../kinds/kind.js'
import { continueWith, readCsvRows } from './csv.js'
import { readJsonRows } from './ndjson.js'

/** Opens a CSV or NDJSON file, and recognises its format, encoding and delimiter. */
export async function openFile(
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<InputRows> {
  const { head, chunks: all } = await readHead(bytes, encodingSampleBytes)
  const chunks = toBuffers(all)
  const beginning = Buffer.concat(head)
  checkText(beginning)
  const encoding = detectEncoding(beginning, options.encoding)
  const sample = sampleOf(beginning, encoding)
  const { isSheet } = options
  const original = { encoding: encoding.label, hasMark: encoding.mark > 0 }
  if (isSheet) {
    const csv = { delimiter: ',', preamble: detectDelimiter(sample, options.skipLines).preamble }
    const rows = readRows(chunks, encoding, csv, { raw: true, isSheet })
    return readCsvRows(kind, rows, options, { ...original, ...csv })
  }
  const format = options.format ?? (/^\s*[{[]/.test(sample) ? 'ndjson' : 'csv')
  if (format === 'ndjson') return readJsonRows(kind, sample, toTexts(decode(chunks, encoding)), options)
  checkCsv(undefined, sample)
  const csv = detectDelimiter(sample, options.skipLines ?? (options.header === false ? 0 : undefined))
  const rows = readRows(chunks, encoding, csv, { looseQuotes: true })
  const read = await readCsvRows(kind, rows, options, { ...original, ...csv })
  return encoding.sample === undefined
    ? read
    : { ...read, encoding: { label: encoding.label, sample: encoding.sample } }
}

/**
 * Reads the beginning of a file: `minBytes`, or all of it when there are fewer. `chunks` include the head again, and end or
 * fail as the file does.
 */
export async function readHead(bytes: AsyncIterable<Uint8Array>, minBytes: number) {
  const rest = bytes[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let length = 0
  let failure: { readonly error: unknown } | undefined
  try {
    for (let step = await rest.next(); !step.done; step = await rest.next()) {
      head.push(step.value)
      length += step.value.length
      if (length >= minBytes) break
    }
  } catch (error) {
    failure = { error }
  }
  return { head, hasMore: length >= minBytes, chunks: continueWith(head, failure, rest) }
}

async function* toBuffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const { buffer, byteOffset, length } of bytes) yield Buffer.from(buffer, byteOffset, length)
}

async function* toTexts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const piece of pieces) yield piece.toString()
}
