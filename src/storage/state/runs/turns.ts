import type { AnsweredRow, AskedRow, JournalRow } from '../../../batch/journal/journal.js'
import { toPlace } from '../../database/row-places.js'
import type { Connection, Driver } from '../../driver/connection.js'
import { indexAnswers } from './answers.js'

/** A row that a run is about to send. */
export interface TurnRow {
  readonly ordinal: number
  /** Hash of its identity; `undefined` for a lookup without equals. */
  readonly hash: number | undefined
  /** Hash of its whole request. */
  readonly print: number
}

/** A row that a run sent which was killed: its key brings the reply that was paid for. */
export interface LeftTurn {
  readonly run: string
  readonly ordinal: number
}

/** Which of the wanted rows others are asking, and what killed runs left of the rest. */
export interface TakenTurns {
  /** Ordinals of rows whose lookup another run has under way. */
  readonly busy: ReadonlySet<number>
  /** By ordinal, the row of a killed run with the same request. */
  readonly left: ReadonlyMap<number, LeftTurn>
  /** Number of the record of the rows that were taken; `undefined` where none was. */
  readonly record: number | undefined
}

/** The run that takes turns. */
export interface TurnTaker {
  readonly number: number
  readonly id: string
  /** The name of its lock: as long as it is held, its rows are under way. */
  readonly knownBy: string
  readonly operation: string
  readonly target: string
}

type Call = readonly [hash: number, ordinal: number, print: number]

interface TurnRecord {
  readonly number: number
  readonly run: string
  readonly holder: string
  readonly calls: string
}

const othersSql = `SELECT number, run, holder, calls FROM turns
  WHERE operation = ? AND target = ? AND run <> ? ORDER BY number`
const addSql = `INSERT INTO turns (operation, target, run, holder, calls) VALUES (?, ?, ?, ?, ?)
  RETURNING number`

/**
 * Takes the turns of rows before they are sent, so that equal rows of other runs wait for their answers. A run never waits
 * for a turn while it holds one that it does not use, so that no two runs wait for each other.
 */
export async function takeTurns(
  driver: Driver,
  { id, knownBy, operation, target }: TurnTaker,
  rows: readonly TurnRow[],
  isAlive: (holder: string) => Promise<boolean>,
): Promise<TakenTurns> {
  // By record, because a run that is resumed holds its lock again: what it has under way then is in new records.
  const alive = new Map<number, boolean>()
  for (;;) {
    const unknown = new Map<number, string>()
    const taken = await driver.transaction(async (connection) => {
      const others = await connection.all<TurnRecord>(othersSql, operation, target, id)
      const { busy, left } = compare(rows, others, ({ number, holder }) => {
        const known = holder === '' ? false : alive.get(number)
        if (known === undefined) unknown.set(number, holder)
        return known ?? true
      })
      const calls = rows.flatMap(({ hash, ordinal, print }): Call[] =>
        hash === undefined || busy.has(ordinal) ? [] : [[hash, ordinal, print]],
      )
      if (unknown.size > 0 || calls.length === 0) return { busy, left, record: undefined }
      const values = [operation, target, id, knownBy, JSON.stringify(calls)]
      const made = await connection.get<{ number: number }>(addSql, ...values)
      return { busy, left, record: made?.number }
    }, `turns ${operation} ${target}`)
    if (unknown.size === 0) return taken
    for (const [number, holder] of unknown) alive.set(number, await isAlive(holder))
  }
}

/** Finds wanted rows in the records of others. */
function compare(
  rows: readonly TurnRow[],
  others: readonly TurnRecord[],
  isAlive: (record: TurnRecord) => boolean,
): Pick<TakenTurns, 'busy' | 'left'> {
  const busy = new Set<number>()
  const left = new Map<number, LeftTurn>()
  if (others.length === 0) return { busy, left }
  const wanted = new Map(rows.map((row) => [row.hash, row]))
  for (const record of others)
    for (const [hash, ordinal, print] of JSON.parse(record.calls) as Call[]) {
      const row = wanted.get(hash)
      if (!row) continue
      if (isAlive(record)) busy.add(row.ordinal)
      // Later ones of the same request used the key of the first, too.
      else if (row.print === print && !left.has(row.ordinal))
        left.set(row.ordinal, { run: record.run, ordinal })
    }
  return { busy, left }
}

/** How a run takes turns with others. */
export interface TurnOptions {
  /** Whether a process holds the lock with this name. */
  readonly isAlive: (holder: string) => Promise<boolean>
  /** Whether rows of killed runs are sent again under their keys. */
  readonly takesKeys: boolean
}

const runningSql = `SELECT 1 AS one FROM runs
  WHERE status = 'running' AND operation = ? AND target = ? AND number <> ? LIMIT 1`

/** The turns of one run. */
export class RunTurns {
  /** By ordinal, the number of the record that a row is in. */
  readonly #records = new Map<number, number>()
  /** By record, the number of its rows without an answer. */
  readonly #open = new Map<number, number>()
  readonly #left = new Map<number, LeftTurn>()
  /** Records without open rows, which are deleted with the next answers. */
  #free: number[] = []
  #isResumed = false

  constructor(
    private readonly driver: Driver,
    private readonly run: TurnTaker,
    private readonly options: TurnOptions,
  ) {}

  /** Takes the turns of rows. Returns the ordinals of those that others have under way; `undefined` without any. */
  async take(rows: readonly AskedRow[]): Promise<ReadonlySet<number> | undefined> {
    if (rows.length === 0) return undefined
    await this.#resume()
    const wanted = rows.map(({ ordinal, hash, print }) => ({ ordinal, hash, print }))
    const { isAlive, takesKeys } = this.options
    const { busy, left, record } = await takeTurns(this.driver, this.run, wanted, isAlive)
    if (takesKeys) for (const [ordinal, turn] of left) this.#left.set(ordinal, turn)
    if (record !== undefined) {
      const taken = rows.filter(({ ordinal, hash }) => hash !== undefined && !busy.has(ordinal))
      for (const { ordinal } of taken) this.#records.set(ordinal, record)
      this.#open.set(record, taken.length)
    }
    return busy.size > 0 ? busy : undefined
  }

  /**
   * What an earlier part of this run, or another run with its lock, had under way is nobody's now. The rows of this run may
   * come again.
   */
  async #resume(): Promise<void> {
    if (this.#isResumed) return
    this.#isResumed = true
    const { knownBy } = this.run
    await this.driver.transaction((c) => c.run(`UPDATE turns SET holder = '' WHERE holder = ?`, knownBy))
  }

  /** Returns the row of a killed run with the same request; its key brings the reply that was paid for. */
  leftOf(ordinal: number): LeftTurn | undefined {
    return this.#left.get(ordinal)
  }

  /** Notes rows that are not sent, and whose answers are not recorded. */
  release(rows: readonly JournalRow[]): void {
    this.#free.push(...this.#close(rows))
  }

  /** Returns the records whose rows are all answered with these. */
  overAfter(rows: readonly AnsweredRow[]): readonly number[] {
    const over = [...this.#free, ...this.#close(rows)]
    this.#free = []
    return over
  }

  #close(rows: readonly JournalRow[]): number[] {
    const over: number[] = []
    for (const { ordinal } of rows) {
      const record = this.#records.get(ordinal)
      this.#left.delete(ordinal)
      if (record === undefined) continue
      this.#records.delete(ordinal)
      const open = (this.#open.get(record) ?? 1) - 1
      if (open > 0) this.#open.set(record, open)
      else if (this.#open.delete(record)) over.push(record)
    }
    return over
  }

  /** Lets other runs that are under way find answers, and deletes records whose rows are all answered. */
  async record(connection: Connection, rows: readonly AnsweredRow[], over: readonly number[]): Promise<void> {
    for (const number of over) await connection.run('DELETE FROM turns WHERE number = ?', number)
    const { number, operation, target } = this.run
    if (!(await connection.get(runningSql, operation, target, number))) return
    const found = rows.filter(({ answer, origin }) => answer.status === 'found' && origin === undefined)
    const indexed = found.flatMap(({ hash, ordinal }) =>
      hash === undefined ? [] : [{ hash, place: toPlace(number, ordinal) }],
    )
    await indexAnswers(connection, indexed)
  }

  /** Deletes the records of the run. */
  async drop(connection: Connection): Promise<void> {
    await connection.run('DELETE FROM turns WHERE run = ?', this.run.id)
  }
}
