import { createHash } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { ApiError, isRefusal, Refusal } from '../../api/calls/errors.js'
import {
  type Connection,
  type Driver,
  isPostgres,
  isStorageFault,
  type MovedTable,
  movedError,
  readBehind,
  readNumber,
  type StoredRow,
  withoutPassword,
} from '../driver/connection.js'
import { fromPostgresError } from '../driver/postgres/errors.js'
import { openSqlite } from '../driver/sqlite/driver.js'
import { removeBesides } from '../driver/sqlite/partial.js'
import type { LeasedTable } from '../queue.js'
import { publish, sync, syncFolder } from './backup.js'
import { openAlone, removeDatabase, whileUnused } from './database-file.js'
import {
  type Moved,
  markMoved,
  migrateWithin,
  readMoved,
  readVersion,
  requireUsable,
  type Schema,
  unmarkMoved,
} from './migrate.js'
import { openDatabase } from './open.js'

/** A database that moves, with its tables, each after those that it refers to. */
export interface MovedPart {
  readonly schema: Schema
  readonly tables: readonly MovedTable[]
  /** Follows the name of the engine's schema in that of this part, where both are on a server. */
  readonly schemaSuffix: string
  /** Tables in which a new database has rows. Those that move take their place. */
  readonly seeded?: readonly string[]
  /** Bytes of a page of a new file. */
  readonly pageBytes: number
  /** Whether constraints and indexes are dropped until all rows are there: no rule needs them meanwhile. */
  readonly rebuilds?: true
  /** Rows that a process on any machine may have taken. */
  readonly leased?: readonly LeasedTable[]
}

export interface MovedParts {
  readonly engine: MovedPart
  readonly catalogue: MovedPart
  /** Runs that machines share; a file has no place for them. */
  readonly runs: MovedPart
}

type PartName = keyof MovedParts
const partNames = ['engine', 'catalogue', 'runs'] as const

/** An address, or the files of an engine and its catalogue. */
interface MovePlace {
  readonly engine: string
  readonly catalogue: string
}

export interface Move {
  readonly from: MovePlace
  readonly to: MovePlace
  readonly parts: MovedParts
  /** Returns what tells an engine from all others; `undefined` of one without a workspace. */
  identify(connection: Connection): Promise<string | undefined>
  /** Real time. */
  readonly now: number
  onRows(rows: number): void
}

export interface MoveReport {
  /** Whether an earlier command has moved it. */
  readonly before: boolean
  /** Those with rows. */
  readonly tables: readonly { readonly database: PartName; readonly table: string; readonly rows: number }[]
  /** How many shared runs stay behind. */
  readonly runsLeft: number
}

/** Returns the connection to a part, which is used until another part is entered; `undefined` where there is none. */
type Enter = (part: PartName) => Promise<Connection | undefined>

/** One end of a move. */
interface Side {
  /** Runs work in one transaction for each file, or for all parts on a server. No other process writes meanwhile. */
  transaction<T>(work: (enter: Enter) => Promise<T>): Promise<T>
  close(): Promise<void>
}

interface Target extends Side {
  /** Whether an earlier command has moved the engine here. */
  readonly hasArrived: boolean
  /** Gives what a transaction has written its name, where it has none yet. */
  publish?(catalogue: string | null): Promise<void>
}

/** The engine that moves. */
interface MovedEngine {
  readonly id: string
  /** Where it has moved to, if an earlier command was killed or has succeeded. */
  readonly moved: Moved | undefined
}

/** Returns the name of a place as others are told it, without a password. */
const placeOf = ({ engine }: MovePlace): string =>
  isPostgres(engine) ? withoutPassword(engine) : `${engine} on ${hostname()}`

/**
 * Moves an engine with its catalogue into an empty database: everything, or nothing. What has arrived is read again and
 * compared. Then the old database is marked as moved, and only after that the new one is committed or gets its name, so that
 * there are never two. A process that is killed between these steps leaves none that answers: the same move, run again, is
 * made anew, or found to be complete.
 */
export async function moveEngine(move: Move): Promise<MoveReport> {
  const place = placeOf(move.to)
  const opened: Side[] = []
  try {
    const source = await openSource(move)
    opened.push(source)
    const engine = await source.transaction((enter) => examineSource(enter, move, place))
    const target = isPostgres(move.to.engine)
      ? await serverTarget(move, engine)
      : await fileTarget(move, engine)
    opened.push(target)
    if (target.hasArrived) return { before: true, tables: [], runsLeft: 0 }
    return await carryOver(move, source, target, place)
  } catch (error) {
    throw toMoveFailure(error, place)
  } finally {
    for (const side of opened.reverse()) await side.close()
  }
}

async function examineSource(enter: Enter, { identify }: Move, place: string): Promise<MovedEngine> {
  const { id, moved } = await examine(await enterEngine(enter), identify)
  if (moved && moved.place !== place) throw movedError(moved.place)
  if (id === undefined) throw new Refusal('database.nothing_to_move')
  return { id, moved }
}

async function carryOver(move: Move, source: Side, target: Target, place: string): Promise<MoveReport> {
  const { engine } = move.parts
  const tables = engine.tables.map(({ name }) => name)
  const copyAndMark = async (enterSource: Enter, enterTarget: Enter) => {
    await requireIdle(move, enterSource)
    const copied = await copyParts(move, enterSource, enterTarget)
    const moved = { place, at: move.now, catalogue: copied.catalogue }
    await markMoved(await enterEngine(enterSource), tables, moved)
    return copied
  }
  let isMarked = false
  try {
    const { catalogue, ...report } = await target.transaction(
      onlyOnce(place, async (enterTarget) => {
        const copied = await source.transaction(onlyOnce(place, (enter) => copyAndMark(enter, enterTarget)))
        isMarked = true
        return copied
      }),
    )
    await target.publish?.(catalogue)
    return report
  } catch (error) {
    // Where it is not known what has arrived, only the mark keeps one ledger from being used in two places.
    if (!isMarked || isRefusal(error, 'outcome_unknown')) throw error
    const unmark = async (enter: Enter) => unmarkMoved(await enterEngine(enter))
    await source.transaction(unmark).catch(() => {
      throw new Refusal('database.move_unknown', { place })
    })
    throw error
  }
}

async function enterEngine(enter: Enter): Promise<Connection> {
  const connection = await enter('engine')
  if (!connection) throw new Refusal('database.nothing_to_move')
  return connection
}

/** A driver runs work again after a lost connection. A move does not: its other end is not as it was in the beginning. */
function onlyOnce<T>(place: string, work: (enter: Enter) => Promise<T>): (enter: Enter) => Promise<T> {
  let failure: { readonly error: unknown } | undefined
  return async (enter) => {
    if (failure) throw toMoveFailure(fromPostgresError(failure.error), place)
    try {
      return await work(enter)
    } catch (error) {
      failure = { error }
      throw error
    }
  }
}

/** Refuses to move what a process on another machine works on: it would do so once more at the new place. */
async function requireIdle({ from, parts }: Move, enter: Enter): Promise<void> {
  // Nobody else has a file open.
  if (!isPostgres(from.engine)) return
  for (const name of partNames) {
    const leased = parts[name].leased ?? []
    const connection = leased.length > 0 ? await enter(name) : undefined
    if (!connection || (await readVersion(connection)) === 0) continue
    for (const { table, open = 'TRUE' } of leased) {
      const sql = `SELECT 1 AS one FROM ${table} WHERE ${open} AND lease_until > ${connection.dialect.now} LIMIT 1`
      if (await connection.get(sql)) throw new Refusal('database.engine_at_work')
    }
  }
}

async function copyParts(move: Move, enterSource: Enter, enterTarget: Enter) {
  const tables: MoveReport['tables'][number][] = []
  let [catalogue, runsLeft, before]: [string | null, number, number] = [null, 0, 0]
  for (const name of partNames) {
    const part = move.parts[name]
    const from = await enterSource(name)
    if (!from || (await readVersion(from)) === 0) continue
    if (name !== 'engine') await requireUsable(from)
    if (name !== 'engine' && (await isEmpty(from, part))) continue
    const to = await enterTarget(name)
    if (!to) {
      runsLeft = await readNumber(from, 'SELECT count(*) FROM runs')
      continue
    }
    const between = { from, to, place: placeOf(move.to) }
    const copied = await copyPart(part, between, (rows) => move.onRows(before + rows))
    for (const { table, rows } of copied) if (rows > 0) tables.push({ database: name, table, rows })
    before += copied.reduce((sum, { rows }) => sum + rows, 0)
    if (name === 'catalogue') catalogue = digestOf(copied)
  }
  return { before: false, tables, runsLeft, catalogue }
}

interface ReadTable {
  readonly table: string
  readonly rows: number
  readonly digest: string
}

/** Copies a part, and reads again what has arrived at `place`. */
async function copyPart(
  part: MovedPart,
  { from, to, place }: { readonly from: Connection; readonly to: Connection; readonly place: string },
  onRows: (rows: number) => void,
): Promise<readonly ReadTable[]> {
  const { schema, tables, seeded = [], rebuilds = false } = part
  await migrateWithin(to, schema)
  if (!(await isEmpty(to, part))) throw new Refusal('database.not_empty', { place })
  for (const table of seeded) await to.run(`DELETE FROM ${table}`)
  const filler = to.dialect.fill(to, tables, rebuilds)
  await filler.begin()
  let written = 0
  let table = ''
  const fill = async () => {
    const sent = await readTables(from, tables, async (one, rows, text) => {
      table = one.name
      if (text.includes('\\u0000')) requireStorable(to, one, rows)
      await filler.add(one, rows)
      written += rows.length
      onRows(written)
    })
    await filler.end()
    return sent
  }
  const sent = await fill().catch((error: unknown) => {
    throw toRowFailure(error, table)
  })
  for (const { name, identity } of tables) {
    if (identity === undefined) continue
    const last = await from.dialect.readNumbering(from, name, identity)
    await to.dialect.continueNumbering(to, name, identity, last)
  }
  const arrived = await readTables(to, tables)
  for (const [at, one] of sent.entries())
    if (arrived[at]?.rows !== one.rows || arrived[at].digest !== one.digest)
      throw new Refusal('database.move_differs', { table: one.table })
  return sent
}

/** Reads all rows of tables in the order of their keys; returns their number and hash, equal in both databases. */
async function readTables(
  connection: Connection,
  tables: readonly MovedTable[],
  each?: (table: MovedTable, rows: readonly StoredRow[], text: string) => Promise<void>,
): Promise<readonly ReadTable[]> {
  const read: ReadTable[] = []
  for (const table of tables) {
    const hash = createHash('sha256')
    let count = 0
    for await (const { rows, text } of readInPortions(connection, table)) {
      hash.update(text)
      count += rows.length
      if (each && rows.length > 0) await each(table, rows, text)
    }
    read.push({ table: table.name, rows: count, digest: hash.digest('hex') })
  }
  return read
}

/** Rows that are read at once: the first ones, and the most; as many as have about so many letters. */
const firstRows = 50
const maxRows = 1_000
const portionLetters = 500_000

/** Yields the rows of a table in portions, of which no more is in memory, with their values as text. */
async function* readInPortions(connection: Connection, { name, key, columns }: MovedTable) {
  const reading = { table: name, key, columns: columns.join(', ') }
  let limit = firstRows
  for (let last: StoredRow | undefined, isOver = false; !isOver; ) {
    const rows = await readBehind(connection, { ...reading, last, limit })
    const text = rows
      .map((row) => `${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`)
      .join('')
    yield { rows, text }
    isOver = rows.length < limit
    last = rows.at(-1)
    limit = Math.max(1, Math.min(maxRows, Math.floor((limit * portionLetters) / Math.max(1, text.length))))
  }
}

const digestOf = (read: readonly ReadTable[]): string =>
  createHash('sha256').update(JSON.stringify(read)).digest('hex')

async function isEmpty(connection: Connection, { tables, seeded = [] }: MovedPart): Promise<boolean> {
  for (const { name } of tables)
    if (!seeded.includes(name) && (await connection.get(`SELECT 1 AS one FROM ${name} LIMIT 1`))) return false
  return true
}

/** Throws for a character that the database cannot hold, and names its row, without secrets. */
function requireStorable(
  { dialect }: Connection,
  { name, key }: MovedTable,
  rows: readonly StoredRow[],
): void {
  for (const row of rows)
    for (const value of Object.values(row))
      if (typeof value === 'string' && dialect.toStorableText(value) !== value) {
        const named = key.filter((column) => column !== 'secret').map((column) => row[column])
        throw new Refusal('database.nul_in_row', { table: name, key: JSON.stringify(named) })
      }
}

/** What a rule of the tables refuses contradicts other rows. On a server, the error may come with rows of the next table. */
function toRowFailure(error: unknown, table: string): unknown {
  const { code, table: refused = table } = error as { code?: unknown; table?: string }
  const isRule = !(error instanceof Refusal) && /^(?:SQLITE_CONSTRAINT|22|23|P0001)/.test(String(code))
  const isTwice = isStorageFault(error, 'already_there')
  return isRule || isTwice ? new Refusal('database.row_refused', { table: refused }) : error
}

function toMoveFailure(error: unknown, place: string): unknown {
  if (isRefusal(error, 'outcome_unknown')) return new Refusal('database.move_unknown', { place })
  if (!(error instanceof ApiError) || error.details.place !== undefined) return error
  return new Refusal('database.move_failed', { place, reason: error.details.reason ?? error.message })
}

const movesCatalogue = ({ from, to }: Move): boolean =>
  isPostgres(from.engine) || isPostgres(to.engine) || from.catalogue !== to.catalogue

async function openSource(move: Move): Promise<Side> {
  const { engine, catalogue } = move.from
  if (isPostgres(engine)) return openServer(move, engine, false)
  if (!existsSync(engine)) throw new Refusal('database.nothing_to_move')
  const files: Files = { engine: openAlone(engine) }
  try {
    if (movesCatalogue(move) && existsSync(catalogue)) files.catalogue = openAlone(catalogue)
    return sideOfFiles(files)
  } catch (error) {
    await files.engine?.close()
    throw error
  }
}

async function openServer({ parts }: Move, url: string, creates: boolean): Promise<Side> {
  const { enterSchema } = await import('../driver/postgres/driver.js')
  const driver = await openDatabase(url)
  return {
    transaction: (work) =>
      driver.transaction(async (connection) => {
        // It waits for the other side.
        const sql = `SELECT set_config('statement_timeout', '0', TRUE), CAST(current_schema() AS TEXT) AS name,
          set_config('idle_in_transaction_session_timeout', '0', TRUE)`
        const { name = '' } = (await connection.get<{ name: string }>(sql)) ?? {}
        return work(async (part) =>
          (await enterSchema(connection, name, parts[part].schemaSuffix, creates)) ? connection : undefined,
        )
      }),
    close: () => driver.close(),
  }
}

async function serverTarget(move: Move, { id, moved }: MovedEngine): Promise<Target> {
  const { to, identify } = move
  const side = await openServer(move, to.engine, true)
  const found = await side.transaction(async (enter) => examine(await enterEngine(enter), identify))
  const hasArrived = moved !== undefined && found.id === id && !found.moved
  if (found.id === undefined || hasArrived) return { ...side, hasArrived }
  await side.close()
  throw new Refusal('database.not_empty', { place: placeOf(to), isLeft: found.moved !== undefined })
}

/** Returns the engine in a database; none where it has no tables or no workspace. */
async function examine(connection: Connection, identify: Move['identify']) {
  const moved = await readMoved(connection)
  const isNew = !moved && (await requireUsable(connection)).is === 'empty'
  return { id: isNew ? undefined : await identify(connection), moved }
}

type Files = Partial<Record<PartName, Driver>>

const sideOfFiles = (files: Files): Side => ({
  transaction: (work) => {
    const connections: Partial<Record<PartName, Connection>> = {}
    const begin = ([first, ...rest]: [string, Driver][]): ReturnType<typeof work> =>
      first
        ? first[1].transaction((connection) => {
            connections[first[0] as PartName] = connection
            return begin(rest)
          })
        : work(async (part) => connections[part])
    return begin(Object.entries(files))
  },
  close: async () => {
    for (const driver of Object.values(files)) await driver.close()
  },
})

/** Follows the name of a file while it is filled. */
const unfinished = '.moving'

/** Opens a new file for filling: without a log, since it is removed unless it becomes complete. */
async function openUnfinished(path: string, pageBytes: number): Promise<Driver> {
  // What a killed move has left behind.
  if (existsSync(path)) whileUnused(path, () => removeDatabase(path))
  const driver = openSqlite(path, { durable: false, pageBytes })
  for (const setting of [
    'locking_mode = EXCLUSIVE',
    'journal_mode = OFF',
    'synchronous = OFF',
    'foreign_keys = OFF',
    'cache_size = -32768',
  ])
    await driver.set(setting)
  return driver
}

/** A target in files: filled beside their places, which they take when they are complete. */
async function fileTarget(move: Move, { id, moved }: MovedEngine): Promise<Target> {
  const { from, to, parts, identify } = move
  const names: PartName[] = movesCatalogue(move) ? ['engine', 'catalogue'] : ['engine']
  const pathOf = (name: PartName) => (name === 'engine' ? to.engine : to.catalogue)
  const [there, filled]: [Files, Files] = [{}, {}]
  const entered = new Set<PartName>()
  const close = async () => {
    for (const driver of [...Object.values(filled), ...Object.values(there)]) await driver.close()
    for (const name of names) removeDatabase(pathOf(name) + unfinished)
  }
  try {
    for (const name of names) if (existsSync(pathOf(name))) there[name] = openAlone(pathOf(name))
    const found = await there.engine?.read((reads) => examine(reads, identify))
    const hasArrived = moved !== undefined && found?.id === id && !found.moved
    // What the engine left there on its way. After a killed move, it must have come from there to where it is.
    const isLeft = found?.id === id && found.moved && (!moved || found.moved.place === placeOf(from))
    if (found?.id !== undefined && !hasArrived && !isLeft)
      throw new Refusal('database.not_empty', { place: to.engine })
    if (!hasArrived)
      for (const name of names)
        filled[name] = await openUnfinished(pathOf(name) + unfinished, parts[name].pageBytes)
    let expected: string | undefined
    /** A catalogue there is replaced if it is what was left, or the same as the one that moves. */
    const requireKnown = async (reads: Connection) => {
      const part = parts.catalogue
      if ((await requireUsable(reads)).is === 'empty' || (await isEmpty(reads, part))) return
      const digest = digestOf(await readTables(reads, part.tables))
      if (!isLeft || digest !== found?.moved?.catalogue) expected = digest
    }
    return {
      hasArrived,
      close,
      transaction: (work) =>
        sideOfFiles(filled).transaction((enter) =>
          work(async (name) => {
            const connection = await enter(name)
            if (!connection || entered.has(name)) return connection
            entered.add(name)
            if (name === 'catalogue') await there.catalogue?.read(requireKnown)
            return connection
          }),
        ),
      publish: async (catalogue) => {
        if (expected !== undefined && expected !== catalogue)
          throw new Refusal('database.catalogue_not_empty', { file: to.catalogue })
        for (const driver of Object.values(filled)) await driver.close()
        // The engine comes last: with it, the move is complete.
        for (const name of [...names].reverse())
          if (entered.has(name)) await takePlace(pathOf(name) + unfinished, pathOf(name), there[name])
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Gives a complete file its name, in place of one that this process keeps from all others. */
async function takePlace(partial: string, path: string, there: Driver | undefined): Promise<void> {
  sync(partial)
  if (!there) return publish(partial, path)
  // Windows renames no open file.
  if (process.platform === 'win32') await there.close()
  removeBesides(path)
  renameSync(partial, path)
  syncFolder(dirname(path))
}
