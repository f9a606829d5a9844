import { isUtf8 } from 'node:buffer'
import { CsvError } from './errors.js'

/** How the bytes of a file become text. */
export interface Encoding {
  /** A label that TextDecoder knows. */
  readonly label: string
  /** Length of the byte order mark in bytes. */
  readonly mark: number
}

const marks = [
  { label: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { label: 'utf-16le', bytes: [0xff, 0xfe] },
  { label: 'utf-16be', bytes: [0xfe, 0xff] },
] as const

/** The encoding of a file: what its mark says, else the one that was asked for, else by its first bytes. */
export function detectEncoding(head: Uint8Array, asked?: string): Encoding {
  const label = asked === undefined ? undefined : decoderFor(asked).encoding
  const mark = marks.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte))
  if (mark) return { label: mark.label, mark: mark.bytes.length }
  if (label !== undefined) return { label, mark: 0 }
  return { label: byNuls(head) ?? 'utf-8', mark: 0 }
}

/** Latin text in UTF-16 has a NUL in every second byte, which UTF-8 never has. */
function byNuls(head: Uint8Array): string | undefined {
  const nuls = [0, 0] as [number, number]
  for (let at = 0; at < head.length; at++) if (head[at] === 0) nuls[(at & 1) as 0 | 1]++
  const many = head.length * 0.2
  const [even, odd] = nuls
  if (odd > many && even < odd / 10) return 'utf-16le'
  if (even > many && odd < even / 10) return 'utf-16be'
  return undefined
}

function decoderFor(label: string) {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    throw new CsvError(
      `The encoding "${label}" is not known. Use a name such as utf-8, utf-16le, windows-1252 or shift_jis.`,
    )
  }
}

/** The beginning of a text, without its mark, from the first bytes of its file. */
export const sampleOf = (head: Uint8Array, { label, mark }: Encoding): string =>
  new TextDecoder(label).decode(head.subarray(mark), { stream: true })

/**
 * Turns the bytes of a file into UTF-8 without its mark, in pieces of whole characters, and refuses what is not
 * text, with its line.
 */
export async function* decode(
  chunks: AsyncIterable<Buffer>,
  { label, mark }: Encoding,
): AsyncGenerator<Buffer> {
  const lines = new Lines()
  const bytes = skip(mark, chunks)
  const texts = label === 'utf-8' ? checkUtf8(bytes, lines) : decodeText(bytes, label, lines)
  for await (const text of texts) {
    const nul = text.indexOf(0)
    if (nul >= 0) {
      lines.pass(text, nul)
      throw new CsvError(
        'there is a NUL character here, so this is no text file, or its encoding must be given with --encoding (for example utf-16le).',
        lines.line,
      )
    }
    lines.pass(text)
    yield text
  }
}

async function* checkUtf8(chunks: AsyncIterable<Buffer>, lines: Lines): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    const whole = bytes.length - unfinished(bytes)
    const text = bytes.subarray(0, whole)
    if (!isUtf8(text)) throw notUtf8(text, lines)
    rest = bytes.subarray(whole)
    yield text
  }
  if (rest.length > 0) throw notUtf8(rest, lines)
}

/** How many bytes at the end begin a character that is not complete yet. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
}

function notUtf8(text: Buffer, lines: Lines): CsvError {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(10, from)
    const to = end < 0 ? text.length : end + 1
    if (!isUtf8(text.subarray(from, to))) {
      lines.pass(text, from)
      break
    }
    from = to
  }
  return new CsvError(
    'this is not valid UTF-8. If the file has another encoding, name it with --encoding (for example windows-1252).',
    lines.line,
  )
}

async function* decodeText(
  chunks: AsyncIterable<Buffer>,
  label: string,
  lines: Lines,
): AsyncGenerator<Buffer> {
  const decoder = decoderFor(label)
  const next = (bytes: Buffer | undefined): Buffer => {
    try {
      return Buffer.from(bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode())
    } catch {
      const good = new TextDecoder(label).decode(bytes).split('\ufffd', 1)[0] ?? ''
      lines.pass(Buffer.from(good))
      throw new CsvError(
        `this is not valid ${label}. Name the encoding of the file with --encoding.`,
        lines.line,
      )
    }
  }
  for await (const chunk of chunks) yield next(chunk)
  yield next(undefined)
}

/** How text becomes the bytes of a file that is read like another one. */
export interface Encoder {
  /** What the file begins with. */
  readonly mark: Buffer
  encode(text: string): Buffer
}

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Text in the encoding of a file that was read, with the mark that it had. Encodings with more than one byte for a
 * character become UTF-8 with a mark, which a reader obeys before anything else.
 */
export function encoderFor(label: string, hadMark: boolean): Encoder {
  const none = Buffer.alloc(0)
  if (label === 'utf-8') return { mark: hadMark ? utf8Mark : none, encode: (text) => Buffer.from(text) }
  // Without a mark, UTF-16 is known by its Latin letters only.
  if (label === 'utf-16le')
    return { mark: Buffer.from([0xff, 0xfe]), encode: (text) => Buffer.from(text, 'utf16le') }
  if (label === 'utf-16be')
    return { mark: Buffer.from([0xfe, 0xff]), encode: (text) => Buffer.from(text, 'utf16le').swap16() }
  const bytes = singleBytes(label)
  if (!bytes) return { mark: utf8Mark, encode: (text) => Buffer.from(text) }
  return { mark: none, encode: (text) => Buffer.from(Array.from(text, (one) => bytes.get(one) ?? question)) }
}

const question = 0x3f

/** The byte of each character, where every character is one byte. */
function singleBytes(label: string): ReadonlyMap<string, number> | undefined {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte)
  // Two bytes are two characters, whichever they are.
  const isSingle = bytes.every((byte) => [0x41, 0xa1].every((next) => textOf(label, byte, next).length === 2))
  if (!isSingle || label === 'iso-2022-jp') return undefined
  return new Map(bytes.map((byte) => [textOf(label, byte), byte]))
}

// Node decodes windows-1252 as what it is only from a stream.
const textOf = (label: string, ...bytes: readonly number[]): string =>
  new TextDecoder(label).decode(Uint8Array.from(bytes), { stream: true })

const lineFeed = 10
const carriageReturn = 13

/** Counts the lines of a text that passes by in pieces. Lines end with LF or CRLF, or with CR where a piece has no LF. */
export class Lines {
  #line = 1

  /** The line that the next byte is on, counted from 1. */
  get line(): number {
    return this.#line
  }

  /** Goes past the bytes before `end`. */
  pass(bytes: Uint8Array, end = bytes.length): void {
    const mark = bytes.includes(lineFeed) ? lineFeed : carriageReturn
    for (let at = bytes.indexOf(mark); at >= 0 && at < end; at = bytes.indexOf(mark, at + 1)) this.#line++
  }
}

/** Leaves out the first bytes of a stream. */
export async function* skip(bytes: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of chunks) {
    yield chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
  }
}
