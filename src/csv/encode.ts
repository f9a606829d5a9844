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
