import { hashOf, IdentityFilter } from '../csv/identity-filter.js'
import type { Driver } from '../storage/driver.js'
import type { Kind } from './kind.js'
import { atOnce, type Statements } from './statements.js'
import { mergeAsUsual, mergeLater, mergeTexts } from './text-merging.js'
import { areMissing, buildFor, buildIndexes, dropIndexes } from './unbuilt.js'

/** The tables that records of a kind fill, without those of other kinds. */
const filled: Readonly<Record<Kind, readonly string[]>> = {
  companies: ['companies', 'company_technologies', 'headcount_history', 'headcount_growth'],
  people: ['people', 'phones'],
  jobs: ['jobs'],
  posts: ['posts', 'engagers'],
}

/** Enough for the filter to take all of its 16 MiB, which serves millions of records. */
const expected = 12_000_000

/**
 * An import into a table that was empty. Its indexes are missing meanwhile, and what the table holds is known from
 * what was written: nearly no record is looked up before it is added. Somebody else who writes takes that knowledge
 * away; then every record is looked up, by the indexes, which come back one by one as they are needed.
 */
export class Load {
  readonly #kind: Kind
  readonly #seen = new IdentityFilter(expected)
  readonly #found = new Set<string>()
  #alone = true
  /** Changes of the database by other connections, as SQLite counts them. */
  #others: number | undefined

  constructor(kind: Kind) {
    this.#kind = kind
  }

  /** Begins a transaction. `isNext` says that nobody in this process wrote since the last one of this load. */
  enter(statements: Statements, isNext: boolean): void {
    const version = statements.get<{ data_version: number }>('PRAGMA data_version')?.data_version
    if (!isNext || version !== (this.#others ?? version)) this.#alone = false
    this.#others = version
    this.#found.clear()
  }

  /** Whether a record may have an identity, and if so makes sure that it is found fast by the column. */
  mayHold(statements: Statements, table: Kind, column: string, identity: string): boolean {
    if (table !== this.#kind) return true
    if (this.#alone && !this.#seen.has(hashOf(identity))) return false
    if (!this.#found.has(column)) buildFor(statements, table, column)
    this.#found.add(column)
    return true
  }

  /** Remembers an identity of a record that is written. */
  note(table: Kind, identity: string): void {
    if (table === this.#kind) this.#seen.add(hashOf(identity))
  }
}

/** Begins a load where the table of a kind is empty; else there is none. */
export async function beginLoad(
  kind: Kind,
  { driver, last }: { readonly driver: Driver; readonly last: { load?: Load | undefined } },
): Promise<Load | undefined> {
  return await driver.transaction((connection) => {
    const statements = atOnce(connection)
    if (areMissing(statements) || statements.get(`SELECT key FROM ${kind} LIMIT 1`)) return undefined
    dropIndexes(statements, filled[kind])
    mergeLater(statements)
    const load = new Load(kind)
    load.enter(statements, true)
    last.load = load
    return load
  })
}

/** Gives a catalogue its indexes back after a load, also after one that was killed; does nothing for others. */
export async function endLoad(driver: Driver): Promise<void> {
  if (!(await driver.read((connection) => areMissing(atOnce(connection))))) return
  await mergeTexts(driver)
  await buildIndexes(driver, mergeAsUsual)
}
