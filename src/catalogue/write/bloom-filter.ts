import { type Hash, hashOf, IdentityFilter } from '../../csv/identity-filter.js'

/** Makes the filter use its maximum of 16 MiB, which is enough for millions of records. */
const expectedValues = 12_000_000

/** A Bloom filter of the values of columns, each for all records or for a part of them; see `IdentityFilter`. */
export class ColumnBloomFilter {
  readonly #filter = new IdentityFilter(expectedValues)
  readonly #salts = new Map<string, Map<string, Hash>>()

  /** Returns whether a value may have been added to a part; never false for one that was. */
  has(column: string, value: string, part: string): boolean {
    return this.#filter.has(addSalt(hashOf(value), this.#saltOf(column, part)))
  }

  add(column: string, value: string, parts: readonly string[]): void {
    const hash = hashOf(value)
    for (const part of parts) this.#filter.add(addSalt(hash, this.#saltOf(column, part)))
  }

  /** Returns the salt that distinguishes equal values of different columns and parts, without joining their texts. */
  #saltOf(column: string, part: string): Hash {
    let salts = this.#salts.get(column)
    if (!salts) {
      salts = new Map()
      this.#salts.set(column, salts)
    }
    let salt = salts.get(part)
    if (!salt) {
      salt = hashOf(`${column} ${part}`)
      salts.set(part, salt)
    }
    return salt
  }
}

const addSalt = (hash: Hash, salt: Hash): Hash => [(hash[0] ^ salt[0]) >>> 0, (hash[1] ^ salt[1]) >>> 0]
