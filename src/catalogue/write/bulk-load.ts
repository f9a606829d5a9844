import { type Hash, hashOf, IdentityFilter } from '../../csv/identity-filter.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { BulkSettings } from '../dialect/dialect.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { invalid, shorten } from '../normalize/readers.js'

export interface BulkWriteState {
  /** The load of the last transaction; `undefined` when that was not part of a load. */
  lastLoad?: BulkLoad | undefined
  /** Number of bulk writes in progress. */
  active: number
  settings?: Promise<BulkSettings> | undefined
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
  readonly #kind: RecordKind
  readonly #written = new ColumnBloomFilter()
  readonly #indexed = new Set<string>()
  #isOnlyWriter = true
  /** Changes of the database by other connections. */
  #foreignWrites: number | undefined
  #connection: Connection | undefined

  constructor(kind: RecordKind) {
    this.#kind = kind
  }

  /** Transactions of this load, which the database counts together with those of others. */
  readonly own = { transactions: 0 }

  /**
   * Begins a transaction. `isNext` is false when this process wrote something else since the last one of this load;
   * `foreignWrites` counts the writes of others.
   */
  beginTransaction(connection: Connection, foreignWrites: number, isNext: boolean): void {
    if (!isNext || foreignWrites !== (this.#foreignWrites ?? foreignWrites)) this.#isOnlyWriter = false
    this.#foreignWrites = foreignWrites
    this.#connection = connection
    this.#indexed.clear()
  }

  /** Returns whether records of a part may have a value; if so, makes sure that the column has its index. */
  mayExist(table: RecordKind, column: string, value: string, part: string): boolean {
    if (table !== this.#kind) return true
    if (this.#isOnlyWriter && !this.#written.has(column, value, part)) return false
    if (this.#connection && !this.#indexed.has(column))
      dialectOf(this.#connection).load.buildIndexesOn(this.#connection, table, column)
    this.#indexed.add(column)
    return true
  }

  remember(table: RecordKind, column: string, value: string, parts: readonly string[]): void {
    if (table === this.#kind) this.#written.add(column, value, parts)
  }
}

/** Begins a transaction that writes, and tells its load whether others wrote in between. */
export async function beginTransaction(connection: Connection, load: BulkLoad | undefined, isNext: boolean) {
  const foreignWrites = await dialectOf(connection).load.countForeignWrites(connection, load?.own)
  load?.beginTransaction(connection, foreignWrites ?? 0, isNext)
}

/** Bulk-write mode, from `startBulkWrite` to `end`. */
export type BulkWrite = Awaited<ReturnType<typeof startBulkWrite>>

/**
 * Starts bulk-write mode: text indexes are merged at the end, and commits are not flushed one by one. An empty table also gets
 * its indexes at the end.
 */
export async function startBulkWrite(
  kind: RecordKind,
  { driver, bulkWrites }: { readonly driver: Driver; readonly bulkWrites: BulkWriteState },
) {
  const load = await driver.transaction((connection) => startLoad(kind, connection, bulkWrites))
  bulkWrites.active += 1
  bulkWrites.settings ??= dialectOf(driver).load.beginBulkWrites(driver)
  const settings = await bulkWrites.settings
  return {
    /** `undefined` when the table was not empty. */
    load,
    /** Restores the settings, builds missing indexes and makes everything durable. */
    async end(updated: number) {
      bulkWrites.active -= 1
      // The last of several bulk writes restores the settings.
      const isLast = bulkWrites.active === 0
      if (isLast) bulkWrites.settings = undefined
      try {
        if (isLast) await settings.restoreDurability()
        await endBulkLoad(driver, kind, updated)
      } finally {
        if (isLast) await settings.restoreMemory()
      }
    },
  }
}

async function startLoad(kind: RecordKind, connection: Connection, bulkWrites: BulkWriteState) {
  const dialect = dialectOf(connection).load
  if (dialect.hasDeferredIndexes(connection)) return undefined
  const isEmpty = (await connection.get(`SELECT key FROM ${kind} LIMIT 1`)) === undefined
  dialect.deferIndexes(connection, isEmpty ? filledTables[kind] : [])
  if (!isEmpty) return undefined
  const load = new BulkLoad(kind)
  await beginTransaction(connection, load, true)
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

// PostgreSQL refuses an index entry that is too long, and rolls back the transaction. So such texts are rejected first.

type Database = Pick<Connection, 'dialect'>

const maxBytesOf = (database: Database): number | undefined => dialectOf(database).load.maxIndexedBytes

/** Throws when one of some texts would not fit into an index; `message` says which. */
function checkLength(database: Database, texts: () => readonly string[], message: () => string): void {
  const maxBytes = maxBytesOf(database)
  if (maxBytes !== undefined && texts().some((text) => Buffer.byteLength(text) > maxBytes))
    throw invalid(message())
}

const indexedFacts = [
  'domain',
  'id',
  'country',
  'region',
  'city',
  'industry',
  'industry_name',
  'company_type',
  'revenue_currency',
] as const

/** Throws when a company's row would not fit into an index. */
export const checkCompany = (
  database: Database,
  row: Readonly<Record<(typeof indexedFacts)[number], string | null>>,
): void =>
  checkLength(
    database,
    () => [indexedFacts.map((column) => row[column] ?? '').join('')],
    () => 'its domain, industry, place or id is too long',
  )

/** Throws when a department, as given or as compared, would not fit into one. */
export function checkHistory(database: Database, history: readonly { readonly department: string }[]): void {
  for (const { department } of history)
    checkLength(
      database,
      () => [department, foldText(department)],
      () => `headcount_history: the department '${shorten(department)}' is too long`,
    )
}

/** Throws when the profile of an engager would not fit into one. */
export function checkEngagers(
  database: Database,
  engagers: readonly { readonly profile: string; readonly url: string }[],
): void {
  for (const { profile, url } of engagers)
    checkLength(
      database,
      () => [profile],
      () => `engagers: the profile url '${shorten(url)}' is too long`,
    )
}

const isLong = (text: string, maxBytes: number): string => `octet_length(${text}) > ${maxBytes}`
const longDepartment = (table: string, maxBytes: number): string =>
  `SELECT coalesce(domain, name, id) AS name FROM ${table} JOIN companies ON companies.key = ${table}.company
    WHERE ${isLong('department', maxBytes)} LIMIT 1`

const createLengthQueries = (maxBytes: number): Readonly<Record<string, string>> => ({
  'The facts of the company': `SELECT coalesce(domain, name, id) AS name FROM companies
    WHERE ${isLong(indexedFacts.map((column) => `coalesce(${column}, '')`).join(' || '), maxBytes)} LIMIT 1`,
  'A department of the company': longDepartment('headcount_history', maxBytes),
  'A department as compared, of the company': longDepartment('headcount_growth', maxBytes),
  'The profile of an engager of the post': `SELECT identity AS name FROM engagers JOIN posts ON posts.key = engagers.post
    WHERE ${isLong('profile', maxBytes)} LIMIT 1`,
})

/** Returns, in words, what of a catalogue another database would refuse; `undefined` when it takes everything. */
export async function findTooLong(connection: Connection, target: Database): Promise<string | undefined> {
  const maxBytes = maxBytesOf(target)
  if (maxBytes === undefined) return undefined
  for (const [what, sql] of Object.entries(createLengthQueries(maxBytes))) {
    const found = await connection.get<{ name: string }>(sql)
    if (found) return `${what} '${shorten(found.name)}'`
  }
  return undefined
}
