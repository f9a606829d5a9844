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

/** Which changes a connection knows of: by other connections, and by itself. */
interface Changes {
  readonly others: number
  readonly own: number
}

/**
 * An import into a table that was empty. Its indexes are missing meanwhile, and what the table holds is known from
 * what was written: nearly no record is looked up before it is added. Somebody else who writes takes that knowledge
 * away; then every record is looked up, by the indexes, which come back one by one as they are needed.
 */
export class Load {
  readonly #kind: Kind
  readonly #seen = new IdentityFilter(expected)
  #alone = true
  #last: Changes | undefined

  constructor(kind: Kind) {
    this.#kind = kind
  }

  /** Begins a transaction: notices whether anybody else wrote since the last one. */
  enter(statements: Statements): void {
    const now = changesOf(statements)
    if (this.#last && (now.others !== this.#last.others || now.own !== this.#last.own)) this.#alone = false
  }

  /** Ends a transaction. */
  leave(statements: Statements): void {
    this.#last = changesOf(statements)
  }

  /** Whether a record may have an identity, and if so makes sure that it is found fast by the column. */
  mayHold(statements: Statements, table: Kind, column: string, identity: string): boolean {
    if (table !== this.#kind) return true
    if (this.#alone && !this.#seen.has(hashOf(identity))) return false
    buildFor(statements, table, column)
    return true
  }

  /** Remembers an identity of a record that is written. */
  note(table: Kind, identity: string): void {
    if (table === this.#kind) this.#seen.add(hashOf(identity))
  }
}

/** Begins a load where the table of a kind is empty; else there is none. */
export async function beginLoad(driver: Driver, kind: Kind): Promise<Load | undefined> {
  return await driver.transaction((connection) => {
    const statements = atOnce(connection)
    if (areMissing(statements) || statements.get(`SELECT key FROM ${kind} LIMIT 1`)) return undefined
    dropIndexes(statements, filled[kind])
    mergeLater(statements)
    const load = new Load(kind)
    load.leave(statements)
    return load
  })
}

/** Gives a catalogue its indexes back after a load, also after one that was killed; does nothing for others. */
export async function endLoad(driver: Driver): Promise<void> {
  if (!(await driver.read((connection) => areMissing(atOnce(connection))))) return
  await mergeTexts(driver)
  await buildIndexes(driver, mergeAsUsual)
}

function changesOf(statements: Statements): Changes {
  const changes = statements.get<Changes>(
    'SELECT data_version AS others, total_changes() AS own FROM pragma_data_version',
  )
  if (!changes) throw new Error('the database does not tell its changes')
  return changes
}
