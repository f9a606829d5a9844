import { isUnknown } from '../../../batch/journal/answer.js'
import type { Accepted, Answered, Bulk, BulkJournal, Wanted } from '../../../batch/journal/journal.js'
import {
  type Budget,
  type BudgetLeft,
  type Claims,
  grantCredits,
  type Holds,
} from '../../../batch/plan/budget.js'
import type { Connection, Driver } from '../../driver/connection.js'
import type { KeptAnswer } from './answers.js'
import { checkOwn, type OwnedRun, release, reserve as setAside } from './run-counters.js'
import type { Run } from './runs.js'
import { budgetLeft, scopeOf, settleDays } from './spending.js'

/** The books of a run that its requests for several rows are entered in. */
export interface JournalParts {
  readonly reserve: Holds
  readonly bulks: Bulks
  /** Whether an earlier part set credits aside for a row that has no answer. */
  readonly isCovered: (ordinal: number) => boolean
  readonly claims: () => Claims
}

/** Of how a run is kept, what its requests for several rows need. */
interface Options {
  readonly now: () => number
  readonly budget: Budget
  readonly mayRepeat: boolean
  readonly retryUnknown: boolean
  readonly missing?: object | undefined
  readonly fence?: string | undefined
}

/** What a run in a state database remembers of rows that go out as one request. */
export function bulkJournalOf(driver: Driver, run: Run, options: Options, books: JournalParts): BulkJournal {
  const { reserve, bulks, isCovered, claims } = books
  const { mayRepeat, retryUnknown, missing, budget, now, fence = '' } = options
  const own = { number: run.number, fence }
  const scope = scopeOf(run, budget)
  // Where a request could be paid twice, nothing may forget that it was sent.
  const kept = () => (mayRepeat ? undefined : driver.flush())
  /** The target took it, and has told nothing of the rows that are left. */
  const isGivenUp = ({ accepted, ordinals }: Bulk): boolean => {
    const left = ordinals.filter((ordinal) => bulks.has(ordinal))
    return accepted !== undefined && retryUnknown && left.every((ordinal) => reserve.isRetried(ordinal))
  }
  return {
    open: () => {
      if (missing) return []
      const sent = bulks.range.filter(({ accepted }) => accepted || mayRepeat || retryUnknown)
      return sent.map((bulk) => (isGivenUp(bulk) ? { ...bulk, isGivenUp: true } : bulk))
    },
    plan: async (rows, least) => {
      const asked = { own, rows, least, books, now: now() }
      const planned = await driver.transaction(async (connection) => {
        if (budget.perDay !== undefined) await settleDays(connection, run.profile, now())
        return plan(connection, asked, await budgetLeft(connection, run, budget, now()))
      }, scope)
      await kept()
      const { bulk, wanted, shortage } = planned
      for (const { ordinal, most } of wanted) {
        reserve.hold(ordinal, most, isCovered(ordinal))
        if (bulk) bulks.note(ordinal, bulk, !reserve.isRetried(ordinal))
      }
      return { bulk, shortage }
    },
    reopen: async ({ accepted }, rows) => {
      const covered = rows.filter(({ ordinal }) => isCovered(ordinal))
      // What a target has accepted costs what it costs; only its results are asked for.
      const left = await driver.read(async (reads) => {
        await checkOwn(reads, own)
        return accepted ? undefined : budgetLeft(reads, run, budget, now())
      })
      if (left && grantCredits(covered, left, claims()).length < covered.length) return left.shortage
      // For one that failed nothing is set aside any more; it comes along with the others.
      for (const { ordinal, most } of rows) reserve.hold(ordinal, isCovered(ordinal) ? most : 0, true)
      return undefined
    },
    accept: async (bulk, accepted) => {
      await driver.transaction((connection) => accept(connection, own, bulk, accepted), scope)
      await kept()
    },
    withdraw: async (bulk) => {
      const released = reserve.freshOf(bulk.ordinals)
      await driver.transaction(async (connection) => {
        await dropBulk(connection, bulk.number)
        await release(connection, own, released)
      }, scope)
      reserve.release(bulk.ordinals)
      bulks.drop(bulk)
    },
  }
}

/** Rows that are to go out as one request, as many as there are but no fewer than so many. */
interface Asked {
  readonly own: OwnedRun
  readonly rows: readonly Wanted[]
  readonly least: number
  readonly books: JournalParts
  readonly now: number
}

async function accept(connection: Connection, own: OwnedRun, bulk: Bulk, accepted: Accepted): Promise<void> {
  await checkOwn(connection, own)
  await acceptBulk(connection, bulk, accepted)
}

async function plan(connection: Connection, { own, rows, least, books, now }: Asked, left: BudgetLeft) {
  const { reserve, bulks, claims } = books
  const { shortage } = left
  const grants = grantCredits(rows, left, claims())
  if (grants.length < least) return { wanted: [], shortage }
  const wanted = rows.slice(0, grants.length)
  const ordinals = wanted.map(({ ordinal }) => ordinal)
  const counted = wanted.filter(({ ordinal }) => !reserve.isRetried(ordinal))
  const bulk = await bulks.add(connection, ordinals, sumOf(counted.map(({ most }) => most)))
  await setAside(connection, own, sumOf(grants.map(({ credits }) => credits)), now)
  return { bulk, wanted, shortage }
}

const sumOf = (credits: readonly number[]): number => credits.reduce((sum, one) => sum + one, 0)

/** Ordinals from here on are no rows of a file, but requests for several of them. */
const firstOrdinal = 2 ** 31

interface BulkRow {
  readonly number: number
  readonly ordinals: string
  readonly accepted: string | null
}

const columns = 'number, ordinals, accepted'
const addSql = `INSERT INTO bulks (run, first, ordinals, reserved) VALUES (?, ?, ?, ?) RETURNING ${columns}`
const rangeSql = `SELECT ${columns} FROM bulks WHERE run = ? AND first >= ? AND first < ? ORDER BY first, number`

/** What a run is known by. */
interface RunName {
  readonly number: number
  readonly id: string
}

/** A row that went out with others and has no known answer. */
interface OpenRow {
  readonly number: number
  /** Whether credits are set aside for it with its request. */
  readonly counted: boolean
}

/** What answers change in the requests they belong to. */
export interface BulkChange {
  readonly number: number
  /** Was set aside with it, and no longer is. */
  readonly released: number
  /** Whether all its rows have known answers. */
  readonly closed: boolean
}

/** The requests of a run that took several rows at once, as far as they are at hand. */
export class Bulks {
  readonly #run: RunName
  readonly #rows = new Map<number, OpenRow>()
  readonly #left = new Map<number, number>()
  #range: readonly Bulk[] = []
  #to: number | undefined

  constructor(run: RunName) {
    this.#run = run
  }

  /** Requests of earlier parts whose first row is in the range resumed last. */
  get range(): readonly Bulk[] {
    return this.#range
  }

  /** Whether a row waits for the answer to a request that it shares with others. */
  has(ordinal: number): boolean {
    return this.#rows.has(ordinal)
  }

  /** The ordinal behind the first row of the last request of earlier parts. */
  async to(driver: Driver): Promise<number> {
    this.#to ??= await driver.read(async (connection) => {
      const last = await connection.get<{ first: number | null }>(
        'SELECT max(first) AS first FROM bulks WHERE run = ?',
        this.#run.number,
      )
      return last?.first == null ? 0 : last.first + 1
    })
    return this.#to
  }

  /** Reads the requests of a range of rows; their rows never lie outside of it. */
  async read(connection: Connection, from: number, to: number): Promise<void> {
    const rows = await connection.all<BulkRow>(rangeSql, this.#run.number, from, to)
    this.#range = rows.map((row) => this.#bulkOf(row, false))
  }

  /** Notes which rows of the range have no known answer among those on record; answers all that were sent. */
  begin(kept: readonly KeptAnswer[]): number[] {
    const answers = new Map(kept.map(({ ordinal, answer }) => [ordinal, answer]))
    for (const bulk of this.#range)
      for (const ordinal of bulk.ordinals) {
        const answer = answers.get(ordinal)
        if (!answer || isUnknown(answer)) this.note(ordinal, bulk, answer === undefined)
      }
    return this.#range.flatMap(({ ordinals }) => ordinals)
  }

  /** Nothing of the range at hand was sent with others. */
  pass(): void {
    this.#range = []
  }

  /** Notes a row of a request whose answer is not known; `counted` where nothing of it is on record. */
  note(ordinal: number, { number }: Bulk, counted: boolean): void {
    if (this.#rows.has(ordinal)) return
    this.#rows.set(ordinal, { number, counted })
    this.#left.set(number, (this.#left.get(number) ?? 0) + 1)
  }

  /** Puts a request on record. */
  async add(connection: Connection, ordinals: readonly number[], reserved: number): Promise<Bulk> {
    const [first = 0] = ordinals
    const made = await connection.get<BulkRow>(
      addSql,
      ...[this.#run.number, first, JSON.stringify(ordinals), reserved],
    )
    if (!made) throw new Error('a request was not put on record')
    return this.#bulkOf(made, true)
  }

  /** What these answers change; nothing is changed yet. `isKnown` tells whether an answer ends its row. */
  changesBy(rows: readonly Answered[], isKnown: (row: Answered) => boolean): BulkChange[] {
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

  /** Notes that answers are on record. */
  settle(rows: readonly Answered[], isKnown: (row: Answered) => boolean): void {
    if (this.#rows.size === 0) return
    for (const row of rows) {
      const open = this.#rows.get(row.ordinal)
      if (!open) continue
      if (isKnown(row)) this.#forget(row.ordinal, open.number)
      else this.#rows.set(row.ordinal, { ...open, counted: false })
    }
  }

  /** Takes a request off the books. */
  drop({ number, ordinals }: Bulk): void {
    for (const ordinal of ordinals)
      if (this.#rows.get(ordinal)?.number === number) this.#forget(ordinal, number)
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

/** Puts on record what a target knows the work of a request by. */
export async function acceptBulk(
  connection: Connection,
  { number }: Bulk,
  accepted: Accepted,
): Promise<void> {
  await connection.run('UPDATE bulks SET accepted = ? WHERE number = ?', JSON.stringify(accepted), number)
}

/** Puts on record what answers changed in a request; one whose rows are all answered is of no more use. */
export async function changeBulk(
  connection: Connection,
  { number, released, closed }: BulkChange,
): Promise<void> {
  if (closed) await dropBulk(connection, number)
  else
    await connection.run(
      'UPDATE bulks SET reserved = CASE WHEN reserved > ? THEN reserved - ? ELSE 0 END WHERE number = ?',
      ...[released, released, number],
    )
}

/** Takes a request off the record. */
export async function dropBulk(connection: Connection, number: number): Promise<void> {
  await connection.run('DELETE FROM bulks WHERE number = ?', number)
}
