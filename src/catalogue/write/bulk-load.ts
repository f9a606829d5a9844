import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { Kind } from '../kinds/kind.js'
import { lookAgain } from './analyze.js'
import { Seen } from './bloom-filter.js'
import { areMissing, buildFor, buildIndexes, dropIndexes } from './deferred-indexes.js'
import { mergeAsUsual, mergeLater, mergeTexts } from './fts-merge.js'
import { answered, atOnce, done, type Steps } from './sync-steps.js'

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
  readonly turns = { taken: 0 }

  /** Whether a part of the records may have a value, and if so makes sure that they are found fast by it. */
  mayHold(connection: Connection, table: Kind, column: string, value: string, part: string): boolean {
    if (table !== this.#kind) return true
    if (this.#alone && !this.#seen.has(column, value, part)) return false
    if (!this.#found.has(column) && connection.dialect === 'sqlite')
      buildFor(atOnce(connection), table, column)
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
  const inSqlite = connection.dialect === 'sqlite' ? atOnce(connection) : undefined
  if (inSqlite && areMissing(inSqlite)) return undefined
  const isEmpty = !(yield* answered(connection.get(`SELECT key FROM ${kind} LIMIT 1`)))
  if (inSqlite) {
    dropIndexes(inSqlite, isEmpty ? filled[kind] : [])
    mergeLater(inSqlite)
  }
  if (!isEmpty) return undefined
  const load = new Load(kind)
  yield* enter(connection, load, true)
  importers.last = load
  return load
}

/**
 * Begins a transaction that writes, of a load if there is one. In PostgreSQL each takes a number, so that a load sees
 * whether others took some in between; one that was undone took its number too, and is taken for another's.
 */
export function* enter(connection: Connection, load: Load | undefined, isNext: boolean): Steps<void> {
  if (connection.dialect === 'postgres') {
    const turn = yield* answered(connection.get<{ number: number }>("SELECT nextval('turns') AS number"))
    if (load) load.enter((turn?.number ?? 0) - ++load.turns.taken, isNext)
  } else if (load) {
    const row = yield* answered(connection.get<{ data_version: number }>('PRAGMA data_version'))
    load.enter(row?.data_version ?? 0, isNext)
  }
}

/**
 * Makes a catalogue as usual after much of a kind was written, also after an import that was killed; does nothing for
 * others. Where many records were `updated`, words that they no longer have are dropped. PostgreSQL notes what there is
 * now: a search that it plans for an empty table may take minutes in a full one.
 */
export async function endLoad(driver: Driver, kind?: Kind, updated = 0): Promise<void> {
  // Where that fails, the server does it by itself, later; how the import ended is not changed by it.
  if (driver.dialect === 'postgres')
    return kind && (await lookAgain(driver, [...new Set(['companies', ...filled[kind]])]).catch(() => {}))
  const { isOver, isRenewed } = await driver.read((connection) => {
    const statements = atOnce(connection)
    const last = kind && statements.get<{ key: number }>(`SELECT max(key) AS key FROM ${kind}`)
    return { isOver: !areMissing(statements), isRenewed: last !== undefined && updated * 10 > last.key }
  })
  if (isOver) return
  await mergeTexts(driver, isRenewed)
  await buildIndexes(driver, mergeAsUsual)
}

// Pages of an index are written again and again: copying them to the database less often, and reading them back less
// often, is half the time.
const room = { wal_autocheckpoint: 8_000, cache_size: -32_768 }

// A power cut may undo the last transactions of an import that is not done yet. And no reference needs to be looked up
// again: whoever is referred to was found, or added, in the same transaction.
const haste = { synchronous: 1, foreign_keys: 0 }

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
  importers.usual ??= changed(driver)
  const usual = await importers.usual
  return {
    load,
    async end(updated) {
      importers.much -= 1
      // Of several, the last one sets them back.
      const isLast = importers.much === 0
      if (isLast) importers.usual = undefined
      try {
        if (isLast) await usual.care()
        await endLoad(driver, kind, updated)
      } finally {
        if (isLast) await usual.room()
      }
    },
  }
}

async function changed(driver: Driver): Promise<UsualSettings> {
  if (driver.dialect === 'postgres') return { room: async () => {}, care: async () => {} }
  return { room: await changeSettings(driver, room), care: await changeSettings(driver, haste) }
}

/** Changes settings of a database, as its PRAGMAs take them; answers how to set them back. */
export async function changeSettings(
  driver: Driver,
  settings: Readonly<Record<string, number>>,
): Promise<() => Promise<void>> {
  const before = await driver.read(async (connection) => {
    const values: [string, number][] = []
    for (const name of Object.keys(settings)) {
      const value = await connection.get<Record<string, number>>(`PRAGMA ${name}`)
      values.push([name, value?.[name] ?? 0])
    }
    return values
  })
  const set = async (values: readonly (readonly [string, number])[]) => {
    for (const [name, value] of values) await driver.set(`${name} = ${value}`)
  }
  await set(Object.entries(settings))
  return () => set(before)
}
