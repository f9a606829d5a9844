import { exceededLimit } from './json.js'

/** Bytes in memory of their own, which can be handed to another thread. */
export type Bytes = Uint8Array<ArrayBuffer>

const largestPiece = 1_048_576

/** Collects the chunks of a body piece by piece: joining a large one at its end would hold the event loop. */
export class Pieces {
  readonly #pieces: Bytes[] = []
  /** Bytes so far, and those of them in the last piece. */
  size = 0
  #used = 0

  add(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length; ) {
      let last = this.#pieces.at(-1)
      if (!last || this.#used === last.length) {
        const left = chunk.length - from
        // Most bodies are one small chunk.
        const room = this.size === 0 ? left : Math.max(small.bytes, left, this.size)
        last = new Uint8Array(Math.min(largestPiece, room))
        this.#pieces.push(last)
        this.#used = 0
      }
      const part = chunk.subarray(from, from + last.length - this.#used)
      last.set(part, this.#used)
      this.#used += part.length
      this.size += part.length
      from += part.length
    }
  }

  /** Returns the pieces in order. */
  take(): readonly Bytes[] {
    return this.#pieces.map((piece, at) =>
      at === this.#pieces.length - 1 ? piece.subarray(0, this.#used) : piece,
    )
  }
}

/** Returns pieces as one; copies where there are several. */
export function join(pieces: readonly Bytes[]): Bytes {
  const [first = new Uint8Array(0), ...others] = pieces
  if (others.length === 0) return first
  const joined = new Uint8Array(pieces.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

/** Returns the same bytes as a buffer. */
export const viewOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length)

/** Returns the memory of the bytes in a small value: it is handed to the other thread, not copied. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  if (value instanceof Uint8Array) return [value.buffer as ArrayBuffer]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(buffersIn)
}

/** A body beyond one of these is parsed beside the event loop, which it would hold for milliseconds. */
export const small = { bytes: 65_536, values: 2_000 }

/** Returns whether a body is to be parsed beside the event loop. */
export const isLarge = (pieces: readonly Bytes[]): boolean =>
  pieces.reduce((size, { length }) => size + length, 0) > small.bytes || hasManyValues(join(pieces))

const hasManyValues = (bytes: Bytes): boolean =>
  exceededLimit(viewOf(bytes).toString('latin1'), {
    depth: Number.POSITIVE_INFINITY,
    values: small.values,
  }) !== undefined
