import { type Hash, hashOf, IdentityFilter } from '../../csv/identity-filter.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { BulkLoading } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind } from '../kinds/kind.js'

/** What the imports of a catalogue in this process know of each other. */
export interface BulkWriteState {
  /** The load of the last transaction; `undefined` when that was not part of a load. */
  lastLoad?: BulkLoad | undefined
}

/** The tables that records of a kind fill, without those of other kinds. */
const filledTables: Readonly<Record<RecordKind, readonly string[]>> = {
  companies: ['companies', 'company_technologies', 'headcount_history', 'headcount_growth'],
  people: ['people', 'phones'],
  jobs: ['jobs'],
  posts: ['posts', 'engagers'],
}

/**
 * An import into an empty table, whose indexes are built at the end. A Bloom filter of written values shows that most records
 * are new, without a lookup. It is no longer enough once another process or import writes. Then every record is looked up,
 * and each index is rebuilt when first needed.
 */
export class BulkLoad {
  readonly #written = new ColumnBloomFilter()
  readonly #indexed = new Set<string>()
  #isOnlyWriter = true
  /** A number that changes with each write of another connection. */
  #foreignWrites: number | undefined
  #connection: Connection | undefined

  constructor(private readonly kind: RecordKind) {}

  /** Begins a transaction. `isNext` is false when this process wrote something else since the last one of this load. */
  beginTransaction(connection: Connection, isNext: boolean): void {
    const foreignWrites = dialectOf(connection).load.bulk?.countForeignWrites(connection)
    if (!isNext || foreignWrites !== (this.#foreignWrites ?? foreignWrites)) this.#isOnlyWriter = false
    this.#foreignWrites = foreignWrites
    this.#connection = connection
    this.#indexed.clear()
  }

  /** Returns whether records of a part may have a value; if so, makes sure that the column has its index. */
  mayExist(table: RecordKind, column: string, value: string, part: string): boolean {
    if (table !== this.kind) return true
    if (this.#isOnlyWriter && !this.#written.has(column, value, part)) return false
    if (this.#connection && !this.#indexed.has(column))
      dialectOf(this.#connection).load.bulk?.buildIndexesOn(this.#connection, table, column)
    this.#indexed.add(column)
    return true
  }

  remember(table: RecordKind, column: string, value: string, parts: readonly string[]): void {
    if (table === this.kind) this.#written.add(column, value, parts)
  }
}

export type BulkWrite = Awaited<ReturnType<typeof startBulkWrite>>

/** Starts bulk-write mode: texts are merged, and indexes of an empty table built, at the end; commits are not flushed. */
export async function startBulkWrite(
  kind: RecordKind,
  { driver, bulkWrites }: { readonly driver: Driver; readonly bulkWrites: BulkWriteState },
) {
  const { bulk } = dialectOf(driver).load
  const load =
    bulk && (await driver.transaction((connection) => startLoad(bulk, kind, connection, bulkWrites)))
  await bulk?.beginBulkWrites(driver)
  return {
    /** `undefined` when the table was not empty, or indexes are never missing. */
    load,
    /** Makes commits durable again, and builds missing indexes. */
    async end(updated: number) {
      await bulk?.endBulkWrites(driver)
      await endBulkLoad(driver, kind, updated)
    },
  }
}

async function startLoad(
  bulk: BulkLoading,
  kind: RecordKind,
  connection: Connection,
  bulkWrites: BulkWriteState,
) {
  if (bulk.hasDeferredIndexes(connection)) return undefined
  const isEmpty = (await connection.get(`SELECT key FROM ${kind} LIMIT 1`)) === undefined
  bulk.deferIndexes(connection, isEmpty ? filledTables[kind] : [])
  if (!isEmpty) return undefined
  const load = new BulkLoad(kind)
  load.beginTransaction(connection, true)
  bulkWrites.lastLoad = load
  return load
}

/** Ends the bulk load of an import that `updated` some records, or of one that was killed. Does nothing when there is none. */
export const endBulkLoad = (driver: Driver, kind?: RecordKind, updated = 0): Promise<void> =>
  dialectOf(driver).load.endLoad(driver, kind && { table: kind, tables: filledTables[kind], updated })

/** Makes the filter use its maximum of 16 MiB, which is enough for millions of records. */
const expectedValues = 12_000_000

/** A Bloom filter of the values of columns, each for all records or for a part of them; see `IdentityFilter`. */
class ColumnBloomFilter {
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
