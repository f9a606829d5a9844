import { TextDecoder } from 'node:util'
import { ImportError } from './report.js'

/**
 * The text in a stream of bytes, without its byte order mark: UTF-8, UTF-16 in either order, or the encoding
 * named. Throws where the bytes are not that encoding.
 */
export async function* decode(bytes: AsyncIterable<Uint8Array>, encoding?: string): AsyncGenerator<string> {
  let head: Uint8Array = new Uint8Array()
  let decoder: TextDecoder | undefined
  let lines = 1
  for await (const chunk of bytes) {
    head = decoder ? chunk : Buffer.concat([head, chunk])
    if (!decoder && head.length < 4) continue
    decoder ??= decoderFor(encoding ?? encodingOf(head))
    const text = decoded(decoder, head, lines)
    lines += countLines(text)
    yield text
  }
  decoder ??= decoderFor(encoding ?? 'utf-8')
  yield decoded(decoder, head.length < 4 && lines === 1 ? head : new Uint8Array(), lines, false)
}

/** UTF-16 betrays itself by its byte order mark, or by the zeros beside plain letters. */
function encodingOf([first = 0, second = 0]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (first !== 0 && second === 0) return 'utf-16le'
  return first === 0 && second !== 0 ? 'utf-16be' : 'utf-8'
}

function decoderFor(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding, { fatal: true })
  } catch {
    throw new ImportError(`'${encoding}' is no text encoding that is known here`)
  }
}

function decoded(decoder: TextDecoder, bytes: Uint8Array, line: number, stream = true): string {
  try {
    return decoder.decode(bytes, { stream })
  } catch {
    const readable = new TextDecoder(decoder.encoding).decode(bytes).split('\ufffd', 1)[0] ?? ''
    throw new ImportError(
      `the text from here on is not ${decoder.encoding.toUpperCase()}; save the file as UTF-8, or name its encoding with --encoding`,
      line + countLines(readable),
    )
  }
}

function countLines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}
