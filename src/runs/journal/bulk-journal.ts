import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { KeptAnswer } from './answers.js'
import { type Budget, grantCredits, type Holds } from './budget.js'
import type { Accepted, AnsweredRow, Bulk, BulkJournal, WantedRow } from './journal.js'
import { isUnknown, type RowAnswer } from './journal.js'
import { changeRun, checkOwn, type OwnedRun } from './run-leases.js'
import type { Run } from './runs.js'
import { budgetLeft, scopeOf, settleDays } from './spending.js'

/** What requests need of how the journal of a run is kept. */
export interface RequestOptions {
  /** Real time. */
  readonly now: () => number
  readonly budget: Budget
  /** Whether a row may be sent again under its key without being paid twice. */
  readonly mayRepeat: boolean
  /** Sends rows again whose outcome is unknown. */
  readonly retryUnknown: boolean
  /** The answer of rows that have none. Nothing is sent or recorded. */
  readonly missing?: Pick<RowAnswer, 'status' | 'error'> | undefined
  /** Fencing token of the run's lock, where machines share the database. */
  readonly fence?: string | undefined
}

/** Ordinals from here on are requests for several rows, not rows of a file. */
const firstOrdinal = 2 ** 31

interface BulkRow {
  readonly number: number
  readonly ordinals: string
  readonly accepted: string | null
}

const columns = 'number, ordinals, accepted'
const addSql = `INSERT INTO bulks (run, first, ordinals, reserved) VALUES (?, ?, ?, ?) RETURNING ${columns}`
const rangeSql = `SELECT ${columns} FROM bulks WHERE run = ? AND first >= ? AND first < ? ORDER BY first, number`
const lastSql = 'SELECT max(first) AS first FROM bulks WHERE run = ?'
const acceptSql = 'UPDATE bulks SET accepted = ? WHERE number = ?'
const changeSql =
  'UPDATE bulks SET reserved = CASE WHEN reserved > ? THEN reserved - ? ELSE 0 END WHERE number = ?'
const dropSql = 'DELETE FROM bulks WHERE number = ?'
const releaseSql = 'reserved = CASE WHEN reserved > ? THEN reserved - ? ELSE 0 END'

/** A row that was sent with others and has no known answer. */
interface OpenRow {
  readonly number: number
  /** Whether credits are set aside for it with its request. */
  readonly counted: boolean
}

/** What answers change in a request. */
interface BulkChange {
  readonly number: number
  /** Credits that are no longer set aside with it. */
  readonly released: number
  /** Whether all its rows have known answers. */
  readonly closed: boolean
}

const isKnown = ({ answer }: AnsweredRow): boolean => !isUnknown(answer)
const sumOf = (credits: readonly number[]): number => credits.reduce((sum, one) => sum + one, 0)

/** The requests of a run for several rows, in a state database. */
export class BulkRequests implements BulkJournal {
  readonly #driver: Driver
  readonly #run: Run
  readonly #options: RequestOptions
  readonly #holds: Holds
  readonly #own: OwnedRun
  readonly #scope: string
  readonly #rows = new Map<number, OpenRow>()
  /** By request, the number of its rows without a known answer. */
  readonly #left = new Map<number, number>()
  /** Requests of earlier parts whose first row is in the range resumed last. */
  #range: readonly Bulk[] = []
  #to: number | undefined

  constructor(driver: Driver, run: Run, options: RequestOptions, holds: Holds) {
    this.#driver = driver
    this.#run = run
    this.#options = options
    this.#holds = holds
    this.#own = { number: run.number, fence: options.fence ?? '' }
    this.#scope = scopeOf(run, options.budget)
  }

  open(): readonly Bulk[] {
    const { missing, mayRepeat, retryUnknown } = this.#options
    if (missing) return []
    const sent = this.#range.filter(({ accepted }) => accepted || mayRepeat || retryUnknown)
    return sent.map((bulk) => (this.#isGivenUp(bulk) ? { ...bulk, isGivenUp: true } : bulk))
  }

  /** Whether the target accepted a request, and has no results for its remaining rows. */
  #isGivenUp({ accepted, ordinals }: Bulk): boolean {
    const left = ordinals.filter((ordinal) => this.has(ordinal))
    return (
      accepted !== undefined &&
      this.#options.retryUnknown &&
      left.every((ordinal) => this.#holds.isRetried(ordinal))
    )
  }

  async plan(rows: readonly WantedRow[], least: number) {
    const { budget, now } = this.#options
    const { bulk, wanted, shortage } = await this.#driver.transaction(async (connection) => {
      if (budget.perDay !== undefined) await settleDays(connection, this.#run.profile, now())
      const left = await budgetLeft(connection, this.#run, budget, now())
      const grants = grantCredits(rows, left, this.#holds.claims())
      if (grants.length < least) return { wanted: [], shortage: left.shortage }
      const some = rows.slice(0, grants.length)
      const credits = sumOf(grants.map((grant) => grant.credits))
      const made = await this.#add(connection, some)
      await changeRun(connection, this.#own, 'reserved = reserved + ?, ended_at = ?', credits, now())
      return { bulk: made, wanted: some, shortage: left.shortage }
    }, this.#scope)
    await this.#flush()
    for (const { ordinal, most } of wanted) {
      this.#holds.hold(ordinal, most, this.#holds.isCovered(ordinal))
      if (bulk) this.#note(ordinal, bulk, !this.#holds.isRetried(ordinal))
    }
    return { bulk, shortage }
  }

  async #add(connection: Connection, rows: readonly WantedRow[]): Promise<Bulk> {
    const ordinals = rows.map(({ ordinal }) => ordinal)
    const counted = rows.filter(({ ordinal }) => !this.#holds.isRetried(ordinal))
    const reserved = sumOf(counted.map(({ most }) => most))
    const values = [this.#run.number, ordinals[0] ?? 0, JSON.stringify(ordinals), reserved]
    const made = await connection.get<BulkRow>(addSql, ...values)
    if (!made) throw new Error('a request was not recorded')
    return this.#bulkOf(made, true)
  }

  /** Where a request could be paid twice, the record that it was sent has to survive a power cut. */
  async #flush(): Promise<void> {
    if (!this.#options.mayRepeat) await this.#driver.flush()
  }

  async reopen({ accepted }: Bulk, rows: readonly WantedRow[]) {
    const { budget, now } = this.#options
    const covered = rows.filter(({ ordinal }) => this.#holds.isCovered(ordinal))
    // The cost of accepted work is fixed; only its results are requested.
    const left = await this.#driver.read(async (reads) => {
      await checkOwn(reads, this.#own)
      return accepted ? undefined : budgetLeft(reads, this.#run, budget, now())
    })
    if (left && grantCredits(covered, left, this.#holds.claims()).length < covered.length)
      return left.shortage
    // For a row that failed, nothing is set aside any more; it is sent with the others.
    for (const { ordinal, most } of rows)
      this.#holds.hold(ordinal, this.#holds.isCovered(ordinal) ? most : 0, true)
    return undefined
  }

  async accept({ number }: Bulk, accepted: Accepted): Promise<void> {
    await this.#driver.transaction(async (connection) => {
      await checkOwn(connection, this.#own)
      await connection.run(acceptSql, JSON.stringify(accepted), number)
    }, this.#scope)
    await this.#flush()
  }

  async withdraw({ number, ordinals }: Bulk): Promise<void> {
    const released = this.#holds.freshOf(ordinals)
    await this.#driver.transaction(async (connection) => {
      await connection.run(dropSql, number)
      await changeRun(connection, this.#own, releaseSql, released, released)
    }, this.#scope)
    this.#holds.release(ordinals)
    for (const ordinal of ordinals)
      if (this.#rows.get(ordinal)?.number === number) this.#forget(ordinal, number)
  }

  /** Whether a row waits for the answer to a request that it shares with others. */
  has(ordinal: number): boolean {
    return this.#rows.has(ordinal)
  }

  /** Returns the ordinal behind the first row of the last request of earlier parts. */
  async to(): Promise<number> {
    this.#to ??= await this.#driver.read(async (connection) => {
      const last = await connection.get<{ first: number | null }>(lastSql, this.#run.number)
      return last?.first == null ? 0 : last.first + 1
    })
    return this.#to
  }

  /** Reads the requests of a range of rows; their rows never lie outside of it. */
  async read(connection: Connection, from: number, to: number): Promise<void> {
    const rows = await connection.all<BulkRow>(rangeSql, this.#run.number, from, to)
    this.#range = rows.map((row) => this.#bulkOf(row, false))
  }

  /** Notes which rows of the range have no known answer among the recorded ones. Returns all that were sent. */
  begin(kept: readonly KeptAnswer[]): number[] {
    const answers = new Map(kept.map(({ ordinal, answer }) => [ordinal, answer]))
    for (const bulk of this.#range)
      for (const ordinal of bulk.ordinals) {
        const answer = answers.get(ordinal)
        if (!answer || isUnknown(answer)) this.#note(ordinal, bulk, answer === undefined)
      }
    return this.#range.flatMap(({ ordinals }) => ordinals)
  }

  /** Notes that no row of the current range was sent with others. */
  pass(): void {
    this.#range = []
  }

  /** Notes a row of a request whose answer is unknown; `counted` where no answer of it is recorded. */
  #note(ordinal: number, { number }: Bulk, counted: boolean): void {
    if (this.#rows.has(ordinal)) return
    this.#rows.set(ordinal, { number, counted })
    this.#left.set(number, (this.#left.get(number) ?? 0) + 1)
  }

  changesBy(rows: readonly AnsweredRow[]): BulkChange[] {
    if (this.#rows.size === 0) return []
    const changes = new Map<number, { released: number; known: number }>()
    for (const row of rows) {
      const open = this.#rows.get(row.ordinal)
      if (!open) continue
      const change = changes.get(open.number) ?? { released: 0, known: 0 }
      if (open.counted) change.released += row.most
      if (isKnown(row)) change.known++
      changes.set(open.number, change)
    }
    return [...changes].map(([number, { released, known }]) => {
      return { number, released, closed: known === this.#left.get(number) }
    })
  }

  /** Records what answers change. A request whose rows are all answered is deleted. */
  async recordChanges(connection: Connection, changes: readonly BulkChange[]): Promise<void> {
    for (const { number, released, closed } of changes)
      if (closed) await connection.run(dropSql, number)
      else await connection.run(changeSql, released, released, number)
  }

  /** Notes that answers are recorded. */
  settle(rows: readonly AnsweredRow[]): void {
    if (this.#rows.size === 0) return
    for (const row of rows) {
      const open = this.#rows.get(row.ordinal)
      if (!open) continue
      if (isKnown(row)) this.#forget(row.ordinal, open.number)
      else this.#rows.set(row.ordinal, { ...open, counted: false })
    }
  }

  #forget(ordinal: number, number: number): void {
    this.#rows.delete(ordinal)
    const left = (this.#left.get(number) ?? 0) - 1
    if (left > 0) this.#left.set(number, left)
    else this.#left.delete(number)
  }

  #bulkOf({ number, ordinals, accepted }: BulkRow, fresh: boolean): Bulk {
    const { id } = this.#run
    return {
      number,
      ordinals: JSON.parse(ordinals) as number[],
      key: `${id}-bulk-${number}`,
      row: { run: id, ordinal: firstOrdinal + number, fresh },
      accepted: accepted === null ? undefined : (JSON.parse(accepted) as Accepted),
    }
  }
}
