import type { Driver } from '../storage/driver.js'
import type { Kind } from './kind.js'
import { Seen } from './seen.js'
import { atOnce, type Statements } from './statements.js'
import { mergeAsUsual, mergeLater, mergeTexts } from './text-merging.js'
import { areMissing, buildFor, buildIndexes, dropIndexes } from './unbuilt.js'

/** Who imports in this process. */
export interface Importers {
  /** The load that wrote last, if that was one. */
  last?: Load | undefined
  /** How many write much. */
  much: number
  usual?: Promise<UsualSettings> | undefined
}

/** How to set back what was changed to write much. */
export interface UsualSettings {
  /** Memory, and the length of the log. */
  room(): Promise<void>
  /** What makes commits durable and references checked. */
  care(): Promise<void>
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

  /** Whether a part of the records may have a value, and if so makes sure that they are found fast by it. */
  mayHold(statements: Statements, table: Kind, column: string, value: string, part: string): boolean {
    if (table !== this.#kind) return true
    if (this.#alone && !this.#seen.has(column, value, part)) return false
    if (!this.#found.has(column)) buildFor(statements, table, column)
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
  return await driver.transaction((connection) => {
    const statements = atOnce(connection)
    if (areMissing(statements)) return undefined
    const isEmpty = !statements.get(`SELECT key FROM ${kind} LIMIT 1`)
    dropIndexes(statements, isEmpty ? filled[kind] : [])
    mergeLater(statements)
    if (!isEmpty) return undefined
    const load = new Load(kind)
    load.enter(statements, true)
    importers.last = load
    return load
  })
}

/**
 * Makes a catalogue as usual after much was written, also after an import that was killed; does nothing for others.
 * Where many records of a kind were `updated`, words that they no longer have are dropped.
 */
export async function endLoad(driver: Driver, kind?: Kind, updated = 0): Promise<void> {
  const { isOver, isRenewed } = await driver.read((connection) => {
    const statements = atOnce(connection)
    const last = kind && statements.get<{ key: number }>(`SELECT max(key) AS key FROM ${kind}`)
    return { isOver: !areMissing(statements), isRenewed: last !== undefined && updated * 10 > last.key }
  })
  if (isOver) return
  await mergeTexts(driver, isRenewed)
  await buildIndexes(driver, mergeAsUsual)
}
