import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { CsvError } from '../../csv/csv-error.js'
import { detectDialect } from '../../csv/delimiter.js'
import { detectEncoding, sampleOf } from '../../csv/encoding.js'
import type { Row } from '../../csv/parse.js'
import { type RowOptions, readRows } from '../../csv/read.js'
import { systemReason } from './errors.js'

/** How a file is read where it cannot be, or should not be, recognised by itself. */
export interface ReadOptions extends RowOptions {
  /** A label that TextDecoder knows, such as `windows-1252`. */
  readonly encoding?: string | undefined
  readonly delimiter?: string | undefined
}

/** A CSV file that has been recognised; its rows can be read several times. */
export interface Table {
  readonly path: string
  readonly header: readonly string[]
  readonly headerLine: number
  readonly encoding: string
  /** Whether the file begins with a byte order mark. */
  readonly hasMark: boolean
  readonly delimiter: string
  /** Text before the header: a `sep=` line, or nothing. */
  readonly preamble: string
  /** Size of the file. */
  readonly bytes: number
  /** The rows after the header, in batches, in constant memory. A row may have more or fewer cells than the header. */
  rows(): AsyncGenerator<readonly Row[]>
}

const sampleBytes = 65_536

/** Opens a CSV file: recognises encoding and delimiter and checks its header. */
export async function openTable(path: string, options: ReadOptions = {}): Promise<Table> {
  const { head, bytes } = await readHead(path)
  const encoding = detectEncoding(head, options.encoding)
  const { delimiter, preamble } = detectDialect(sampleOf(head, encoding))
  const dialect = { delimiter: options.delimiter ?? delimiter, preamble }
  const rows = () => readRows(fileChunks(path), encoding, dialect, options)
  const header = await headerOf(path, rows())
  return {
    path,
    header: header.cells,
    headerLine: header.line,
    encoding: encoding.label,
    hasMark: encoding.mark > 0,
    delimiter: dialect.delimiter,
    preamble,
    bytes,
    rows: () => withoutHeader(rows()),
  }
}

/** Keeps what comes from a stream in a new file, readable by its owner only, so that it can be read twice. */
export async function spool(stream: NodeJS.ReadableStream, file: string): Promise<void> {
  await pipeline(stream, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
}

async function readHead(path: string): Promise<{ head: Buffer; bytes: number }> {
  try {
    const found = await stat(path)
    if (!found.isFile())
      throw new CsvError(
        `${path} is no regular file. To read from a pipe, use --csv - and redirect it to stdin.`,
      )
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(sampleBytes), 0, sampleBytes, 0)
      return { head: buffer.subarray(0, bytesRead), bytes: found.size }
    } finally {
      await file.close()
    }
  } catch (error) {
    throw unreadable(path, error)
  }
}

async function* fileChunks(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>
  } catch (error) {
    throw unreadable(path, error)
  }
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof CsvError) return error
  return new CsvError(`${path} cannot be read: ${systemReason(error)}.`)
}

async function headerOf(path: string, batches: AsyncGenerator<Row[]>): Promise<Row> {
  for await (const [header] of batches) {
    if (!header) continue
    checkHeader(header)
    return header
  }
  throw new CsvError(`${path} is empty. Its first line must name the columns.`)
}

function checkHeader({ cells, line }: Row): void {
  if (cells.every((name) => name.trim() === ''))
    throw new CsvError('this should name the columns, but all its cells are empty.', line)
  const seen = new Map<string, number>()
  cells.forEach((name, at) => {
    const before = seen.get(name)
    if (before !== undefined && name !== '')
      throw new CsvError(
        `columns ${before + 1} and ${at + 1} are both named "${name}". Rename one of them.`,
        line,
      )
    seen.set(name, at)
  })
}

async function* withoutHeader(batches: AsyncGenerator<Row[]>): AsyncGenerator<readonly Row[]> {
  let seen = false
  for await (const batch of batches) {
    const rows = seen ? batch : batch.slice(1)
    seen ||= batch.length > 0
    if (rows.length > 0) yield rows
  }
}
