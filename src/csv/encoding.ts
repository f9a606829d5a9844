import { isUtf8 } from 'node:buffer'
import { CsvError } from './csv-error.js'
import { Lines } from './lines.js'
import { skip } from './skip.js'

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
  const texts = label === 'utf-8' ? checked(bytes, lines) : converted(bytes, label, lines)
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

async function* checked(chunks: AsyncIterable<Buffer>, lines: Lines): AsyncGenerator<Buffer> {
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

async function* converted(
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
