import type { Connection, Driver } from '../../storage/driver/connection.js'
import { type BulkSettings, dialectOf } from '../dialect/dialect.js'
import type { Kind } from '../kinds/kind.js'
import { Seen } from './bloom-filter.js'
import { answered, done, type Steps } from './sync-steps.js'

/** Who imports in this process. */
export interface Importers {
  /** The load that wrote last, if that was one. */
  last?: Load | undefined
  /** How many write much. */
  much: number
  usual?: Promise<BulkSettings> | undefined
}

/** The tables that records of a kind fill, without those of other kinds. */
const filled: Readonly<Record<Kind, readonly string[]>> = {
  companies: ['companies', 'company_technologies', 'headcount_history', 'headcount_growth'],
  people: ['people', 'phones'],
  jobs: ['jobs'],
  posts: ['posts', 'engagers'],
}

/**
 * An import into a table that was empty. Its indexes are missing meanwhile, and what the table holds is known from
 * what was written: nearly no record is looked up before it is added. Somebody else who writes takes that knowledge
 * away; then every record is looked up, by the indexes, which come back one by one as they are needed.
 */
export class Load {
  readonly #kind: Kind
  readonly #seen = new Seen()
  readonly #found = new Set<string>()
  #alone = true
  /** Changes of the database by other connections. */
  #others: number | undefined

  constructor(kind: Kind) {
    this.#kind = kind
  }

  /**
   * Begins a transaction. `isNext` says that nobody in this process wrote since the last one of this load, and `others`
   * how often others did at all.
   */
  enter(others: number, isNext: boolean): void {
    if (!isNext || others !== (this.#others ?? others)) this.#alone = false
    this.#others = others
    this.#found.clear()
  }

  /** Transactions of this load that are counted with those of others. */
  readonly own = { transactions: 0 }

  /** Whether a part of the records may have a value, and if so makes sure that they are found fast by it. */
  mayHold(connection: Connection, table: Kind, column: string, value: string, part: string): boolean {
    if (table !== this.#kind) return true
    if (this.#alone && !this.#seen.has(column, value, part)) return false
    if (!this.#found.has(column)) dialectOf(connection).load.buildIndexesOn(connection, table, column)
    this.#found.add(column)
    return true
  }

  /** Remembers a value of a record that is written, and which parts of the records it is in. */
  note(table: Kind, column: string, value: string, parts: readonly string[]): void {
    if (table === this.#kind) this.#seen.add(column, value, parts)
  }
}

/**
 * Makes a catalogue ready for much to be written at once, until `endLoad`: words are merged at the end, and where the
 * table of the kind is empty, a load begins, and indexes are built at the end too.
 */
export async function beginLoad(
  kind: Kind,
  { driver, importers }: { readonly driver: Driver; readonly importers: Importers },
): Promise<Load | undefined> {
  return await driver.transaction((connection) => done(begin(kind, connection, importers)))
}

function* begin(kind: Kind, connection: Connection, importers: Importers): Steps<Load | undefined> {
  const dialect = dialectOf(connection).load
  if (dialect.hasDeferredIndexes(connection)) return undefined
  const isEmpty = !(yield* answered(connection.get(`SELECT key FROM ${kind} LIMIT 1`)))
  dialect.deferIndexes(connection, isEmpty ? filled[kind] : [])
  if (!isEmpty) return undefined
  const load = new Load(kind)
  yield* enter(connection, load, true)
  importers.last = load
  return load
}

/** Begins a transaction that writes, of a load if there is one, which learns whether others wrote in between. */
export function* enter(connection: Connection, load: Load | undefined, isNext: boolean): Steps<void> {
  const others = yield* answered(dialectOf(connection).load.countForeignWrites(connection, load?.own))
  load?.enter(others ?? 0, isNext)
}

/** Ends a load of a kind after an import that `updated` so many records, also one that was killed; no-op after others. */
export const endLoad = (driver: Driver, kind?: Kind, updated = 0): Promise<void> =>
  dialectOf(driver).load.endLoad(driver, kind && { table: kind, tables: filled[kind], updated })

/** Much that is written at once. */
export interface Much {
  /** Where the table was empty. */
  readonly load: Load | undefined
  /** Makes the catalogue as usual again, and what was written durable; so many records were updated. */
  end(updated: number): Promise<void>
}

/** Makes a catalogue ready for many records of a kind to be written at once. */
export async function beginMuch(
  kind: Kind,
  ports: { readonly driver: Driver; readonly importers: Importers },
): Promise<Much> {
  const { driver, importers } = ports
  const load = await beginLoad(kind, ports)
  importers.much += 1
  importers.usual ??= dialectOf(driver).load.beginBulkWrites(driver)
  const usual = await importers.usual
  return {
    load,
    async end(updated) {
      importers.much -= 1
      // Of several, the last one sets them back.
      const isLast = importers.much === 0
      if (isLast) importers.usual = undefined
      try {
        if (isLast) await usual.restoreDurability()
        await endLoad(driver, kind, updated)
      } finally {
        if (isLast) await usual.restoreMemory()
      }
    },
  }
}
