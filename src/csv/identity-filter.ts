const multiplierA = 0x85ebca77
const multiplierB = 0xc2b2ae3d

/** Two independent 32-bit hashes of a text. */
export type Hash = readonly [low: number, high: number]

/** Looked up once: V8 has strings of many kinds, and would search for it at each character. */
const { charCodeAt } = String.prototype

/** Returns a fast hash that is not secure; its users compare the texts as well. */
export function hashOf(text: string): Hash {
  let low = 0xdeadbeef
  let high = 0x41c6ce57
  const { length } = text
  for (let at = 0; at < length; at++) {
    const code = charCodeAt.call(text, at)
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

const firstLength = 2 ** 16

/** Tells which rows of a file have a key that another one has, with four bytes for each key, and as many again at the end. */
export class RepeatedKeys {
  /** A number for each key, and 0 behind those of each row. */
  #numbers = new Uint32Array(firstLength)
  #length = 0

  /** Adds the keys of the next row, each of them once. */
  addRow(keys: readonly string[]): void {
    for (const key of keys) {
      const [low, high] = hashOf(key)
      this.#append((low ^ high) >>> 0 || 1)
    }
    this.#append(0)
  }

  #append(number: number): void {
    if (this.#length === this.#numbers.length) {
      const longer = new Uint32Array(this.#length + (this.#length >> 1))
      longer.set(this.#numbers)
      this.#numbers = longer
    }
    this.#numbers[this.#length++] = number
  }

  /** Returns the rows that share a key, by their numbers from 0; one in thousands of others may be among them. */
  rows(): ReadonlySet<number> {
    const numbers = this.#numbers.subarray(0, this.#length)
    const repeated = repeatedIn(numbers)
    const rows = new Set<number>()
    if (repeated.size === 0) return rows
    let row = 0
    for (const number of numbers)
      if (number === 0) row++
      else if (repeated.has(number)) rows.add(row)
    return rows
  }
}

/** Returns the numbers above 0 that occur more than once. */
function repeatedIn(numbers: Uint32Array): ReadonlySet<number> {
  const repeated = new Set<number>()
  let last = 0
  for (const number of Uint32Array.from(numbers).sort()) {
    if (number === last && number !== 0) repeated.add(number)
    last = number
  }
  return repeated
}
