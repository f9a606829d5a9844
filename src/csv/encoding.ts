import { isUtf8 } from 'node:buffer'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { Refusal } from '../api/calls/errors.js'
import { confirmEncoding, decoderFor, type Encoding, suggestEncoding, unfinished } from './detect-encoding.js'

/** How many bytes at the beginning of a file say what delimiter it has. */
const delimiterSampleBytes = 65_536

/** Returns the beginning of a text, without its mark, from the first bytes of its file. */
export const sampleOf = (head: Uint8Array, { label, mark }: Encoding): string =>
  new TextDecoder(label).decode(head.subarray(mark, delimiterSampleBytes), { stream: true })

/** Ends text files of old systems (Ctrl-Z), which may fill their last block with it. */
const endOfFile = 0x1a

/** Converts a file to UTF-8 without its mark, in pieces of whole characters. Throws a Refusal with the line of no text. */
export async function* decode(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer> {
  let mayBeEnd: Buffer | undefined
  const lines = new LineCounter()
  const bytes = skip(encoding.mark, chunks)
  const texts = encoding.label === 'utf-8' ? checkUtf8(bytes, lines) : decodeText(bytes, encoding, lines)
  for await (const text of texts) {
    const nul = text.indexOf(0)
    if (nul >= 0) {
      lines.pass(text, nul)
      throw new Refusal('csv.nul', { line: lines.line })
    }
    lines.pass(text)
    let end = text.length
    while (end > 0 && text[end - 1] === endOfFile) end--
    if (mayBeEnd && end > 0) yield mayBeEnd
    const ended = text.subarray(end)
    mayBeEnd = mayBeEnd && end === 0 ? Buffer.concat([mayBeEnd, ended]) : ended
    yield text.subarray(0, end)
  }
}

async function* checkUtf8(chunks: AsyncIterable<Buffer>, lines: LineCounter): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    const whole = bytes.length - unfinished(bytes)
    const text = bytes.subarray(0, whole)
    if (!isUtf8(text)) throw notUtf8(text, lines)
    rest = bytes.subarray(whole)
    yield text
  }
  if (rest.length > 0) throw new Refusal('csv.cut_off', { line: lines.line })
}

function notUtf8(text: Buffer, lines: LineCounter): Refusal {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(10, from)
    const to = end < 0 ? text.length : end + 1
    if (!isUtf8(text.subarray(from, to))) {
      lines.pass(text, from)
      break
    }
    from = to
  }
  return new Refusal('csv.not_utf8', { found: suggestEncoding(text), line: lines.line })
}

async function* decodeText(chunks: AsyncIterable<Buffer>, { label, evidence }: Encoding, lines: LineCounter) {
  const decoder = decoderFor(label)
  let known = evidence
  const next = (bytes: Buffer | undefined): Buffer => {
    try {
      return Buffer.from(bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode())
    } catch {
      const good = new TextDecoder(label).decode(bytes).split('\ufffd', 1)[0] ?? ''
      lines.pass(Buffer.from(good))
      throw new Refusal('csv.encoding_wrong', { label, line: lines.line })
    }
  }
  for await (const chunk of chunks) {
    const lineAt = (at: number) => {
      lines.pass(chunk, at)
      return lines.line
    }
    if (known) known = confirmEncoding(label, known, chunk, lineAt)
    yield next(chunk)
  }
  yield next(undefined)
}

const lineFeed = 10
const carriageReturn = 13

/** Counts the lines of a text in pieces. Lines end with LF or CRLF, or with CR where a piece has no LF. */
export class LineCounter {
  /** The line of the next byte, counted from 1. */
  line = 1

  /** Counts the lines of the bytes before `end`. */
  pass(bytes: Uint8Array, end = bytes.length): void {
    const mark = bytes.includes(lineFeed) ? lineFeed : carriageReturn
    for (let at = bytes.indexOf(mark); at >= 0 && at < end; at = bytes.indexOf(mark, at + 1)) this.line++
  }
}

export async function* skip(bytes: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of chunks) {
    yield chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
  }
}

/** Files that are no text: how they begin, and what they are. */
const signatures: readonly (readonly [bytes: string, type: string])[] = [
  ['\x1f\x8b', 'gzip'],
  ['BZh91AY&SY', 'bzip2'],
  ['\xfd7zXZ\0', 'xz'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
  ["7z\xbc\xaf'\x1c", '7z'],
  ['Rar!\x1a\x07', 'rar'],
  ['%PDF-', 'pdf'],
  ['PAR1\x15', 'parquet'],
  ['ARROW1\0\0', 'arrow'],
  ['Obj\x01', 'avro'],
  ['SQLite format 3\0', 'sqlite'],
  ['\x89PNG\r\n\x1a\n', 'image'],
  ['\xff\xd8\xff', 'image'],
  ['GIF87a', 'image'],
  ['GIF89a', 'image'],
  ['II*\0', 'image'],
  ['MM\0*', 'image'],
]

/** What a compound document of Microsoft is, by a stream that it has. */
const compoundTypes: readonly (readonly [stream: string, type: string])[] = [
  ['EncryptedPackage', 'encrypted_workbook'],
  ['WordDocument', 'doc'],
  ['PowerPoint Document', 'ppt'],
]

/** Returns the type of a file that is no text by its first bytes; `workbook` for one that may be read as such. */
export function fileTypeOf(head: Buffer): string | undefined {
  const start = head.toString('latin1', 0, 64)
  if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) return 'workbook'
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'compound'
  if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) return 'image'
  return signatures.find(([bytes]) => start.startsWith(bytes))?.[1]
}

const chunkBytes = 65_536

/** Reads an open file from its beginning to its end, any number of times, and leaves it open. */
export async function* readChunks(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** How many bytes say what type a file has. */
export const fileTypeBytes = 512

/** Opens a regular file. Returns `undefined` for any other, and where it cannot be opened, which is reported where it is read. */
export async function openRegularFile(path: string): Promise<FileHandle | undefined> {
  // Opening a pipe would wait for its writer.
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  return isFile ? open(path).catch(() => undefined) : undefined
}

/** Returns whether a file begins like a workbook. Throws a Refusal for other files that are no text. */
export async function isWorkbook(path: string): Promise<boolean> {
  const file = await openRegularFile(path)
  if (!file) return false
  try {
    const read = async (at: number, bytes: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at)
      return buffer.subarray(0, bytesRead)
    }
    const head = await read(0, fileTypeBytes)
    const type = fileTypeOf(head)
    if (type === undefined || type === 'workbook') return type === 'workbook'
    throw notText(path, type === 'compound' ? await compoundTypeOf(head, read) : type)
  } finally {
    await file.close()
  }
}

async function compoundTypeOf(head: Buffer, read: (at: number, bytes: number) => Promise<Buffer>) {
  const sectorBytes = 2 ** Math.min(16, head.readUInt16LE(30))
  const directory = await read((head.readUInt32LE(48) + 1) * sectorBytes, sectorBytes)
  return compoundTypes.find(([stream]) => directory.includes(Buffer.from(stream, 'utf16le')))?.[1] ?? 'xls'
}

const notText = (path: string | undefined, type: string): Refusal =>
  new Refusal('csv.not_text', { path, type })

/** Throws a Refusal where bytes that come through a pipe are no text. */
export function checkText(head: Buffer): void {
  const type = fileTypeOf(head)
  if (type === 'workbook' || type === 'compound') throw new Refusal('csv.piped_workbook')
  if (type) throw notText(undefined, type)
}

const json = /^\s*(?:\{\s*["}]|\[\s*[{\]])/
const markup = /^\s*<(?:!doctype|html|\?xml|table|head|meta)\b/i

// biome-ignore lint/suspicious/noControlCharactersInRegex: cells may have some, most of a text are none
const controls = /[\0-\x08\x0e-\x1f]/g

const ends = new RegExp(`${String.fromCharCode(endOfFile)}+$`)

/** Throws a Refusal where the beginning of a file is JSON or HTML, or no text at all. */
export function checkCsv(path: string | undefined, beginning: string): void {
  if (json.test(beginning)) throw notText(path, 'json')
  if (markup.test(beginning)) throw notText(path, 'markup')
  const text = beginning.replace(ends, '')
  if ((text.match(controls)?.length ?? 0) * 3 > text.length) throw notText(path, 'binary')
}
