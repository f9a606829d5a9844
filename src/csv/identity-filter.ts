const multiplierA = 0x85ebca77
const multiplierB = 0xc2b2ae3d

/** Two independent 32-bit hashes of a text. */
export type Hash = readonly [low: number, high: number]

/** Returns a fast hash that is not secure; its users compare the texts as well. */
export function hashOf(text: string): Hash {
  let low = 0xdeadbeef
  let high = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    low = Math.imul(low ^ code, multiplierA)
    high = Math.imul(high ^ code, multiplierB)
  }
  low = Math.imul(low ^ (low >>> 16), multiplierB) ^ Math.imul(high ^ (high >>> 13), multiplierA)
  high = Math.imul(high ^ (high >>> 16), multiplierA) ^ Math.imul(low ^ (low >>> 13), multiplierB)
  return [low >>> 0, high >>> 0]
}

/** A hash as one whole number of 53 bits. */
export const hashNumber = ([low, high]: Hash): number => (high >>> 11) * 0x1_0000_0000 + low

const bitsEach = 12
const probes = 6
const largestBits = 2 ** 27

/** A Bloom filter with 12 bits for each identity, 16 MiB at most. It misses none; about 1 in 200 others is a false positive. */
export class IdentityFilter {
  readonly #words: Uint32Array
  readonly #bits: number

  constructor(expected: number) {
    this.#bits = Math.min(largestBits, Math.max(1_024, expected * bitsEach))
    this.#words = new Uint32Array(Math.ceil(this.#bits / 32))
  }

  add([low, high]: Hash): void {
    for (let probe = 0, at = low; probe < probes; probe++, at = (at + high) >>> 0) {
      const bit = at % this.#bits
      this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31))
    }
  }

  has([low, high]: Hash): boolean {
    for (let probe = 0, at = low; probe < probes; probe++, at = (at + high) >>> 0) {
      const bit = at % this.#bits
      if (((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }
}

/** Separates repeated identities from most of those that occur once. */
export class RepeatFilter {
  readonly #once: IdentityFilter
  readonly #again: IdentityFilter
  /** What identifies the companies and people that were seen, such as `domain`. */
  readonly kinds = new Set<string>()

  constructor(expected: number) {
    this.#once = new IdentityFilter(expected)
    this.#again = new IdentityFilter(expected)
  }

  see(identity: string): void {
    const hash = hashOf(identity)
    if (identity.startsWith('company:')) this.#addKind(identity, 8)
    else if (identity.startsWith('person:')) this.#addKind(identity, 7)
    if (this.#once.has(hash)) this.#again.add(hash)
    else this.#once.add(hash)
  }

  #addKind(identity: string, start: number): void {
    const end = identity.indexOf(':', start)
    if (end > start) this.kinds.add(identity.slice(start, end))
  }

  /** Whether an identity may occur; never false for one that does. */
  hasOnce(hash: Hash): boolean {
    return this.#once.has(hash)
  }

  /** Whether an identity may occur more than once; never false for one that does. */
  has(hash: Hash): boolean {
    return this.#again.has(hash)
  }
}

const chunkLength = 2 ** 16

/** Tells which rows of a file have a key that another one has, with four bytes for each key beside a filter. */
export class RepeatedKeys {
  readonly #seen: IdentityFilter
  /** A number for each key, and 0 behind those of each row. */
  readonly #chunks: Uint32Array[] = []
  #length = 0
  /** How many keys have a number, of those that may have been seen before. */
  readonly #counts = new Map<number, number>()

  constructor(expected: number) {
    this.#seen = new IdentityFilter(expected)
  }

  /** Adds the keys of the next row, each of them once. */
  addRow(keys: readonly string[]): void {
    for (const key of keys) {
      const hash = hashOf(key)
      const number = (hash[0] ^ hash[1]) >>> 0 || 1
      if (this.#seen.has(hash)) this.#counts.set(number, 0)
      else this.#seen.add(hash)
      this.#append(number)
    }
    this.#append(0)
  }

  #append(number: number): void {
    const at = this.#length++ % chunkLength
    if (at === 0) this.#chunks.push(new Uint32Array(chunkLength))
    const chunk = this.#chunks.at(-1)
    if (chunk) chunk[at] = number
  }

  /** Returns the rows that share a key, by their numbers from 0; one in millions of others may be among them. */
  rows(): ReadonlySet<number> {
    const rows = new Set<number>()
    if (this.#counts.size === 0) return rows
    this.#each((number) => {
      const count = this.#counts.get(number)
      if (count !== undefined) this.#counts.set(number, count + 1)
    })
    let row = 0
    this.#each((number) => {
      if (number === 0) row++
      else if ((this.#counts.get(number) ?? 0) > 1) rows.add(row)
    })
    return rows
  }

  #each(work: (number: number) => void): void {
    let left = this.#length
    for (const chunk of this.#chunks) {
      const end = Math.min(left, chunkLength)
      for (let at = 0; at < end; at++) work(chunk[at] ?? 0)
      left -= end
    }
  }
}
