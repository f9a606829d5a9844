import { type Hash, hashOf, IdentityFilter } from '../../csv/identity-filter.js'

/** Enough for the filter to take all of its 16 MiB, which serves millions of records. */
const expected = 12_000_000

/** Remembers values of columns, each for all records or for a part of them, in little memory: see `IdentityFilter`. */
export class Seen {
  readonly #filter = new IdentityFilter(expected)
  readonly #salts = new Map<string, Map<string, Hash>>()

  /** Whether a value may have been added to a part; never false for one that was. */
  has(column: string, value: string, part: string): boolean {
    return this.#filter.has(salted(hashOf(value), this.#saltOf(column, part)))
  }

  add(column: string, value: string, parts: readonly string[]): void {
    const hash = hashOf(value)
    for (const part of parts) this.#filter.add(salted(hash, this.#saltOf(column, part)))
  }

  /** What keeps equal values of different columns and parts apart, without a text of both for each. */
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

const salted = (hash: Hash, salt: Hash): Hash => [(hash[0] ^ salt[0]) >>> 0, (hash[1] ^ salt[1]) >>> 0]
