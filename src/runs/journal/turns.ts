import type { Input, RunRow } from '../../api/calls/caller.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { toPlace } from '../../storage/database/row-places.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { type Indexed, indexAnswers } from './answers.js'
import type { AnsweredRow, AskedRow, JournalRow } from './journal.js'

/** How often the answer is looked for that somebody else has under way, in milliseconds. */
export const turnPollMs = 50

/** A request that is about to be sent. */
export interface TurnRow {
  readonly ordinal: number
  /** Hash of its identity; `undefined` for a lookup without equals. */
  readonly hash: number | undefined
  readonly input: Input
}

/** A request that was sent by a run or lookup that was killed: its key brings the reply that was paid for. */
export interface LeftTurn {
  readonly key: string
  /** The row of the run; `undefined` for a single lookup. */
  readonly row: RunRow | undefined
  /** What was sent, maybe in another spelling. */
  readonly input: Input
}

/** Which of the wanted rows others are asking, and what killed runs and lookups left of the rest. */
export interface TakenTurns {
  /** Ordinals of rows whose lookup is under way elsewhere. */
  readonly busy: ReadonlySet<number>
  /** By ordinal, the same lookup of a killed run or of a killed command. */
  readonly left: ReadonlyMap<number, LeftTurn>
  /** Number of the record of the rows that were taken; `undefined` where none was. */
  readonly record: number | undefined
}

/** The run, or the single lookup, that takes turns. */
export interface TurnTaker {
  readonly id: string
  /** The name of its lock: as long as it is held, its rows are under way. */
  readonly knownBy: string
  readonly operation: string
  readonly target: string
  readonly workspace: string
}

export interface TurnOptions {
  /** Whether a process holds the lock with this name. */
  readonly isAlive: (holder: string) => Promise<boolean>
  /** Whether rows of killed runs are sent again under their keys. */
  readonly takesKeys: boolean
  /** Real time before which replies are too old to be used. */
  readonly notBefore: number
}

/** In records of earlier versions, the hash of the request stands in its place. */
type Call = readonly [hash: number, ordinal: number, input: Input | number]

interface TurnRecord {
  readonly number: number
  readonly run: string
  readonly holder: string
  readonly calls: string
  readonly taken_at: number
  /** Number of the run; null for a single lookup. */
  readonly place: number | null
}

const othersSql = `SELECT t.number, t.run, t.holder, t.calls, t.taken_at, r.number AS place
  FROM turns t LEFT JOIN runs r ON r.id = t.run
  WHERE t.operation = ? AND t.target = ? AND (t.workspace = ? OR t.workspace = '') AND t.run <> ? ORDER BY t.number`
const addSql = `INSERT INTO turns (operation, target, workspace, run, holder, calls, taken_at)
  VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number`
const answeredSql = `SELECT place, hash FROM answers
  WHERE place IN (SELECT atom FROM json_each(?)) AND status IN ('found', 'not_found')`

/**
 * Takes the turns of rows before they are sent, so that equal rows of other runs, and single lookups, wait for their answers.
 * Nobody waits for a turn while holding one that is not used, so that no two wait for each other.
 */
export async function takeTurns(
  driver: Driver,
  { id, knownBy, operation, target, workspace }: TurnTaker,
  rows: readonly TurnRow[],
  { isAlive, notBefore, takesKeys }: TurnOptions,
  now: number,
): Promise<TakenTurns> {
  // By record, because a lock may be held again: what is under way then is in new records.
  const alive = new Map<number, boolean>()
  for (;;) {
    const unknown = new Map<number, string>()
    const taken = await driver.transaction(async (connection) => {
      const others = await connection.all<TurnRecord>(othersSql, operation, target, workspace, id)
      const { out, left } = compare(rows, others, ({ number, holder }) => {
        const known = holder === '' ? false : alive.get(number)
        if (known === undefined) unknown.set(number, holder)
        return known ?? true
      })
      if (unknown.size > 0) return { busy: new Set<number>(), left: new Map(), record: undefined }
      const busy = await withoutAnswered(connection, out)
      const calls = rows.flatMap(({ hash, ordinal, input }): Call[] =>
        hash === undefined || busy.has(ordinal) ? [] : [[hash, ordinal, input]],
      )
      const usable = takesKeys ? left.filter(([, turn]) => turn.at >= notBefore) : []
      const found = { busy, left: new Map(usable), record: undefined }
      if (calls.length === 0) return found
      const values = [operation, target, workspace, id, knownBy, toJson(calls), now]
      const made = await connection.get<{ number: number }>(addSql, ...values)
      return { ...found, record: made?.number }
    }, `turns ${operation} ${target}`)
    if (unknown.size === 0) return taken
    for (const [number, holder] of unknown) alive.set(number, await isAlive(holder))
  }
}

/** A row that is out elsewhere, with the place of its answer there; null for a single lookup. */
type OutRow = readonly [ordinal: number, place: number | null]

function compare(
  rows: readonly TurnRow[],
  others: readonly TurnRecord[],
  isAlive: (record: TurnRecord) => boolean,
) {
  const out: OutRow[] = []
  const left = new Map<number, LeftTurn & { readonly at: number }>()
  const wanted = new Map(others.length > 0 ? rows.map((row) => [row.hash, row]) : [])
  for (const record of others)
    for (const [hash, ordinal, input] of parseExact(record.calls) as Call[]) {
      const row = wanted.get(hash)
      if (!row) continue
      const { place, run, taken_at: at } = record
      if (isAlive(record)) out.push([row.ordinal, place === null ? null : toPlace(place, ordinal)])
      // Later ones of the same lookup used the key of the first, too.
      else if (typeof input === 'object' && !left.has(row.ordinal))
        left.set(row.ordinal, { ...keyOf(run, place === null ? undefined : ordinal), input, at })
    }
  return { out, left: [...left] }
}

/** Returns the key of a row of a run, or of a single lookup. */
function keyOf(run: string, ordinal: number | undefined): Pick<LeftTurn, 'key' | 'row'> {
  if (ordinal === undefined) return { key: run, row: undefined }
  return { key: `${run}-${ordinal}`, row: { run, ordinal, fresh: false } }
}

/**
 * Returns the ordinals of rows that are out and have no answer there yet. The others are in the record of a portion that is
 * still under way: their answers are indexed, so that they are found.
 */
async function withoutAnswered(connection: Connection, out: readonly OutRow[]): Promise<ReadonlySet<number>> {
  const places = out.flatMap(([, place]) => (place === null ? [] : [place]))
  if (places.length === 0) return new Set(out.map(([ordinal]) => ordinal))
  const answered = await connection.all<Indexed | { place: number; hash: null }>(answeredSql, toJson(places))
  await indexAnswers(
    connection,
    answered.filter((one): one is Indexed => one.hash !== null),
  )
  const known = new Set<number | null>(answered.map(({ place }) => place))
  return new Set(out.filter(([, place]) => !known.has(place)).map(([ordinal]) => ordinal))
}

/** Marks the records of a lock as nobody's: whoever holds it now did not take them. */
export const releaseHolder = async (driver: Driver, knownBy: string): Promise<void> => {
  await driver.transaction((c) => c.run(`UPDATE turns SET holder = '' WHERE holder = ?`, knownBy))
}

// A single lookup has the answers of a run indexed from then on.
const isSharedSql = `SELECT 1 AS one FROM runs
  WHERE status = 'running' AND operation = ? AND target = ? AND (number <> ? OR indexed > 1) LIMIT 1`

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
    private readonly run: TurnTaker & { readonly number: number },
    private readonly options: TurnOptions & { readonly now: () => number },
  ) {}

  /** Takes the turns of rows. Returns the ordinals of those that others have under way; `undefined` without any. */
  async take(rows: readonly AskedRow[]): Promise<ReadonlySet<number> | undefined> {
    if (rows.length === 0) return undefined
    await this.#resume()
    const { options } = this
    const { busy, left, record } = await takeTurns(this.driver, this.run, rows, options, options.now())
    for (const [ordinal, turn] of left) this.#left.set(ordinal, turn)
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
    await releaseHolder(this.driver, this.run.knownBy)
  }

  /** Returns the same lookup of a killed run or command; its key brings the reply that was paid for. */
  leftOf(ordinal: number): LeftTurn | undefined {
    return this.#left.get(ordinal)
  }

  /** Notes rows that are not sent, and whose answers are not recorded. */
  release(rows: readonly JournalRow[]): void {
    this.#free.push(...this.#close(rows))
  }

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
    if (!(await connection.get(isSharedSql, operation, target, number))) return
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
