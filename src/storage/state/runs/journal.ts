import { type Answer, isUnknown, unknownAnswer } from '../../../batch/journal/answer.js'
import type {
  Answered,
  BulkJournal,
  End,
  Journal,
  JournalRow,
  Plan,
  Recalled,
  Wanted,
} from '../../../batch/journal/journal.js'
import { type Budget, type Claims, grantCredits, Holds } from '../../../batch/plan/budget.js'
import type { Connection, Driver } from '../../driver/connection.js'
import { answersOf, keepAnswers, storedAnswer } from './answers.js'
import { Bulks, bulkJournalOf, changeBulk } from './bulk-journal.js'
import { DuplicateAnswers } from './duplicates.js'
import { type OwnedRun, recordAnswers, recordEnd, recordPlan } from './run-counters.js'
import type { Run } from './runs.js'
import { budgetLeft, countSpent, scopeOf, settleDays } from './spending.js'

/** How a run is kept. */
export interface JournalOptions {
  /** Real time. */
  readonly now: () => number
  readonly budget: Budget
  /** Ordinal behind the last row that an earlier part answered. */
  readonly answeredUpTo: number
  /** Whether a row may be sent again under its key without being paid twice. */
  readonly mayRepeat: boolean
  /** Sends rows again whose outcome is unknown. */
  readonly retryUnknown: boolean
  /** Nothing is sent or put on record: what rows are told that have no answer. */
  readonly missing?: Pick<Answer, 'status' | 'error'> | undefined
  /** Only rows whose outcome is unknown are sent: the run was finished, and stays so. What others get that have no answer. */
  readonly others?: Pick<Answer, 'status' | 'error'> | undefined
  /** Runs whose answers may be taken, and how old those may be, in milliseconds. */
  readonly store?: { readonly runs: ReadonlySet<number>; readonly maxAgeMs: number } | undefined
  /** What the run's lock is known by, where machines share the database. */
  readonly fence?: string | undefined
  /** Answers of repeated lookups that wait in memory for their place in the index. */
  readonly window?: number
}

/** The journal of a run in a state database. Whoever has it holds the run's lock. */
export function journalOf(driver: Driver, run: Run, options: JournalOptions): Journal {
  return new RunJournal(driver, run, options)
}

const none: ReadonlyMap<number, Recalled> = new Map()

const isKnown = ({ answer }: Answered): boolean => !isUnknown(answer)

class RunJournal implements Journal {
  readonly #driver: Driver
  readonly #run: Run
  readonly #options: JournalOptions
  readonly #own: OwnedRun
  readonly #scope: string
  readonly #holds = new Holds()
  readonly #resumed: ResumeState
  readonly #bulks: Bulks
  readonly bulks: BulkJournal
  readonly #duplicates: DuplicateAnswers
  /** Rows that may be sent, and have no answer on record. */
  #sent: { from: number; to: number }
  #done = 0

  constructor(driver: Driver, run: Run, options: JournalOptions) {
    this.#driver = driver
    this.#run = run
    this.#options = options
    this.#own = { number: run.number, fence: options.fence ?? '' }
    this.#scope = scopeOf(run, options.budget)
    this.#sent = { from: run.sentFrom, to: run.sentTo }
    this.#duplicates = new DuplicateAnswers(run.number, options.window)
    this.#resumed = new ResumeState(run, this.#holds)
    this.#bulks = new Bulks(run)
    this.bulks = bulkJournalOf(driver, run, options, {
      reserve: this.#holds,
      bulks: this.#bulks,
      isCovered: (ordinal) => this.#resumed.covers(ordinal),
      claims: () => this.#resumed.claims(),
    })
  }

  async resume(from: number, to: number): Promise<ReadonlyMap<number, Recalled>> {
    const { answeredUpTo } = this.#options
    const { sentFrom, sentTo, number } = this.#run
    const bulksTo = await this.#bulks.to(this.#driver)
    if (from >= Math.max(answeredUpTo, sentTo, bulksTo)) {
      this.#resumed.pass()
      this.#bulks.pass()
      return none
    }
    const kept = await this.#driver.read(async (connection) => {
      await this.#bulks.read(connection, from, to)
      return answersOf(connection, number, from, to)
    })
    const answers = new Map<number, Recalled>()
    const open = new Set<number>()
    for (let at = Math.max(from, sentFrom); at < Math.min(to, sentTo); at++) open.add(at)
    for (const at of this.#bulks.begin(kept)) open.add(at)
    const failed = new Set<number>()
    for (const { ordinal, answer, source } of kept) {
      const isOpen = isUnknown(answer) && !this.#isFinal(answer)
      if (!isUnknown(answer)) open.delete(ordinal)
      if (isOpen) this.#holds.retry(ordinal)
      if (this.#isFinal(answer)) answers.set(ordinal, { answer, source, credits: answer.credits, kept: true })
      else (isOpen ? open : failed).add(ordinal)
    }
    this.#resumed.note(open, failed)
    return answers
  }

  /** Whether a row keeps its answer when its run goes on. */
  #isFinal({ status, error }: Answer): boolean {
    const { missing, others, mayRepeat, retryUnknown } = this.#options
    if (status !== 'failed' || missing) return true
    return error === unknownAnswer.error ? !mayRepeat && !retryUnknown : others !== undefined
  }

  async recall(rows: readonly JournalRow[]): Promise<readonly (Recalled | undefined)[]> {
    const { mayRepeat, retryUnknown, missing, others, store } = this.#options
    const isAsked = store !== undefined || rows.some(({ repeats }) => repeats)
    const found = isAsked ? await this.#driver.read((connection) => this.#findAll(connection, rows)) : []
    if (!missing && !others && (!this.#resumed.coversSome || mayRepeat || retryUnknown)) return found
    return rows.map(({ ordinal }, at) => found[at] ?? this.#lost(ordinal))
  }

  async #findAll(connection: Connection, rows: readonly JournalRow[]): Promise<(Recalled | undefined)[]> {
    // All at once: where a database is far away, its answers come one behind the other.
    return Promise.all(rows.map((row) => this.#find(connection, row)))
  }

  /** What is told of a row that must not be sent, and has no answer. */
  #lost(ordinal: number): Recalled | undefined {
    const { missing, others } = this.#options
    const isCovered = this.#resumed.covers(ordinal)
    const told = missing ?? (isCovered ? undefined : others)
    if (told) return { answer: { ...told, body: undefined, credits: 0 }, source: null, credits: 0 }
    return isCovered && !others ? { answer: unknownAnswer, source: 'live', credits: 0 } : undefined
  }

  async #find(connection: Connection, row: JournalRow): Promise<Recalled | undefined> {
    const { hash, identity, repeats } = row
    const { others, retryUnknown } = this.#options
    const isSent = retryUnknown && (!others || this.#resumed.covers(row.ordinal))
    const equal = repeats ? await this.#duplicates.find(connection, row, isSent) : undefined
    if (equal) return { answer: equal, source: 'duplicate', credits: 0 }
    const { store, now } = this.#options
    if (!store || hash === undefined || identity === undefined) return undefined
    const stored = await storedAnswer(connection, store.runs, hash, identity, now() - store.maxAgeMs)
    return stored && { answer: stored.answer, source: 'store', credits: 0, origin: stored.place }
  }

  async plan(rows: readonly Wanted[]): Promise<Plan> {
    const { budget, now } = this.#options
    const { id } = this.#run
    const { grants, shortage } = await this.#driver.transaction(async (connection) => {
      if (budget.perDay !== undefined) await settleDays(connection, this.#run.profile, now())
      const left = await budgetLeft(connection, this.#run, budget, now())
      const granted = grantCredits(rows, left, this.#resumed.claims())
      const last = rows[granted.length - 1]
      if (last === undefined) return { grants: granted, shortage: left.shortage }
      this.#mark(rows[0]?.ordinal ?? 0, last.ordinal + 1)
      const limit = granted[0]?.limit
      const { from: sentFrom, to: sentTo } = this.#sent
      const credits = granted.reduce((sum, grant) => sum + grant.credits, 0)
      const lowered = limit === undefined ? undefined : { row: last.ordinal, limit }
      const entered = { credits, done: this.#done, now: now(), sentFrom, sentTo, lowered }
      const done = recordPlan(connection, this.#own, entered)
      if (done) await done
      return { grants: granted, shortage: granted.length < rows.length ? left.shortage : undefined }
    }, this.#scope)
    // Where a row could be paid twice, nothing may forget that it was sent.
    if (!this.#options.mayRepeat) await this.#driver.flush()
    const planned = grants.map(({ credits, limit }, at) => {
      const wanted = rows[at] as Wanted
      const { ordinal } = wanted
      const lowered = this.#resumed.loweredOf(ordinal) ?? limit
      const isCovered = this.#resumed.covers(ordinal)
      this.#holds.hold(ordinal, isCovered ? this.#resumed.heldFor(wanted) : credits, isCovered)
      const row = { run: id, ordinal, fresh: !this.#resumed.sent(ordinal) }
      return { key: `${id}-${ordinal}`, row, ...(lowered === undefined ? {} : { limit: lowered }) }
    })
    return { planned, shortage }
  }

  /** Extends the range of rows that may have been sent. */
  #mark(from: number, to: number): void {
    const { from: before, to: after } = this.#sent
    this.#sent = before === after ? { from, to } : { from: Math.min(from, before), to: Math.max(to, after) }
  }

  async keep(rows: readonly Answered[]): Promise<void> {
    const { now, missing } = this.#options
    if (missing) return
    const { number } = this.#run
    const { credits, calls, released, unknown } = this.#holds.changeBy(rows)
    const indexes = this.#duplicates.isFullBefore(rows)
    const bulks = this.#bulks.changesBy(rows, isKnown)
    await this.#driver.transaction(async (connection) => {
      const moment = now()
      const entered = recordAnswers(connection, this.#own, { credits, released, unknown, done: this.#done })
      await Promise.all([entered, keepAnswers(connection, number, rows, moment)])
      if (indexes) await this.#duplicates.index(connection)
      for (const change of bulks) await changeBulk(connection, change)
      if (calls > 0) await countSpent(connection, this.#run, { credits, calls }, moment)
    }, this.#scope)
    this.#bulks.settle(rows, isKnown)
    this.#duplicates.add(rows, indexes)
    this.#holds.settle(rows)
  }

  async written(cleared: number, rows: number): Promise<void> {
    this.#done = rows
    const { from, to } = this.#sent
    if (cleared > from) this.#sent = { from: Math.min(cleared, to), to }
  }

  flush(): Promise<void> {
    return this.#driver.flush()
  }

  async end({ complete, certain, cleared }: End): Promise<void> {
    const { missing, others } = this.#options
    if (missing) return
    const { sentTo } = this.#run
    // Rows that an earlier part sent, and that still have no answer, are as open as they were.
    const from = Math.max(cleared, this.#run.sentFrom)
    const sent = !certain ? this.#sent : from < sentTo ? { from, to: sentTo } : { from: 0, to: 0 }
    const isSettled = certain && from >= sentTo
    await this.#driver.transaction(async (connection) => {
      await this.#duplicates.index(connection)
      const status = complete || others ? 'finished' : 'stopped'
      const released = certain ? this.#holds.leftBut((at) => this.#bulks.has(at)) : 0
      const ended = { status, done: this.#done, now: this.#options.now(), sent, isSettled, released } as const
      await recordEnd(connection, this.#own, ended)
    }, this.#scope)
  }
}

/** What earlier parts of a run did with the rows of the current range. */
class ResumeState {
  readonly #run: Run
  readonly #holds: Holds
  #sent: ReadonlySet<number> = new Set()
  #covered: ReadonlySet<number> = new Set()

  constructor(run: Run, holds: Holds) {
    this.#run = run
    this.#holds = holds
  }

  /** Notes the rows of a range that may have been sent: those that `failed`, and those for which credits are set aside. */
  note(covered: ReadonlySet<number>, failed: ReadonlySet<number>): void {
    this.#covered = covered
    this.#sent = failed.size > 0 ? new Set([...covered, ...failed]) : covered
  }

  /** Notes that no row of the current range was sent. */
  pass(): void {
    if (this.#sent.size > 0) this.#sent = this.#covered = new Set()
  }

  /** Returns whether a row may have been sent. */
  sent(ordinal: number): boolean {
    return this.#sent.has(ordinal)
  }

  /** Returns whether credits are still set aside for a row. */
  covers(ordinal: number): boolean {
    return this.#covered.has(ordinal)
  }

  get coversSome(): boolean {
    return this.#covered.size > 0
  }

  /** Returns the limit that a row was sent with because of a budget. */
  loweredOf(ordinal: number): number | null {
    const { loweredRow, loweredLimit } = this.#run
    return this.sent(ordinal) && ordinal === loweredRow ? loweredLimit : null
  }

  /** Returns the credits set aside for a row. */
  heldFor({ ordinal, most, perRecord = 0 }: Wanted): number {
    const limit = this.loweredOf(ordinal)
    return limit === null ? most : limit * perRecord
  }

  claims(): Claims {
    const holds = this.#holds
    const of = (row: Wanted) =>
      this.covers(row.ordinal) ? holds.addedBy(row.ordinal, this.heldFor(row), row.most) : undefined
    // Only rows of an earlier part have to fit in beside what is under way.
    return { underWay: this.coversSome ? holds.underWay : 0, of }
  }
}
