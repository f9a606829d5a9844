import { parseJson, toJson } from '../../api/values/json.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import {
  answersOf,
  DuplicateAnswers,
  indexedHashes,
  indexShared,
  type KeptAnswer,
  keepAnswers,
  RunTurns,
  StatedInRun,
  storedAnswer,
  type TurnOptions,
} from './answers.js'
import { type Budget, grantCredits, Holds, type QuotaBudget } from './budget.js'
import {
  type Accepted,
  type AnsweredRow,
  type AskedRow,
  type Bulk,
  isUnknown,
  type JournalRow,
  type PlannedRow,
  type RowAnswer,
  type RowOutcome,
  type RunEnd,
  unknownAnswer,
  type WantedRow,
} from './journal.js'
import { changeRun, checkOwn, type OwnedRun } from './run-leases.js'
import type { Run } from './runs.js'
import { budgetLeft, countSpent, type Spender, scopeOf, settleDays } from './spending.js'

export interface JournalOptions {
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
  /** Email of the member who pays; `undefined` where that is not known. */
  readonly member?: string | undefined
  /** Ordinal behind the last row that an earlier part answered. */
  readonly answeredUpTo: number
  /** The same of a finished run, which stays finished: only its rows of unknown outcome are sent. */
  readonly others?: Pick<RowAnswer, 'status' | 'error'> | undefined
  /** How old answers of other runs may be that are taken, in milliseconds; none are taken where it is absent. */
  readonly store?: { readonly maxAgeMs: number } | undefined
  /** The same for rows that an earlier part may have sent all the same; 0 where it took none. */
  readonly sentMaxAgeMs?: number | undefined
  /** Real time before which no answer of another run was given that is taken; any time where it is absent. */
  readonly notBefore?: number | undefined
  /** How equal rows of runs at the same time are asked once; each run asks its own where it is absent. */
  readonly turns?: Omit<TurnOptions, 'notBefore'> | undefined
  /** The budget of its quota; `undefined` without one. */
  readonly quota?: QuotaBudget | undefined
  /** Runs of samples of the same file, whose answers are taken whatever their age. */
  readonly samples?: ReadonlySet<number> | undefined
  /** Number of answers to repeated lookups that wait in memory to be indexed. */
  readonly window?: number
}

export type JournalledRun = Pick<Run, 'id' | 'done' | 'sentFrom' | 'sentTo' | 'loweredRow' | 'loweredLimit'> &
  ConstructorParameters<typeof RunTurns>[1] &
  Spender

export type Journal = Pick<RunJournal, keyof RunJournal>

/** Returns the journal of a run in a state database. The caller holds the run's lock. */
export const journalOf = (driver: Driver, run: JournalledRun, options: JournalOptions): Journal =>
  new RunJournal(driver, run, options)

// Credits that are released never exceed those set aside.
const planSql = `reserved = reserved + ?, done = ?, ended_at = ?, sent_from = ?, sent_to = ?,
  lowered_row = coalesce(?, lowered_row), lowered_limit = coalesce(?, lowered_limit)`
const keepSql = `credits = credits + ?, reserved = CASE WHEN reserved > ? THEN reserved - ? ELSE 0 END,
  unknown = unknown + ?, done = ?`
const requestSql = 'SELECT request FROM runs WHERE number = ?'
const endSql = `status = ?, done = ?, ended_at = ?, sent_from = ?, sent_to = ?, request = ?,
  indexed = CASE WHEN indexed = 2 THEN 2 ELSE 1 END,
  reserved = CASE WHEN ? = 1
    THEN unknown + (SELECT coalesce(sum(b.reserved), 0) FROM bulks AS b WHERE b.run = runs.number)
    WHEN reserved > ? THEN reserved - ? ELSE 0 END`

const none: ReadonlyMap<number, RowOutcome> = new Map()

/** Survives however the run ends. A row passes it in this order: resumed, or recalled, or else planned, kept, then written. */
class RunJournal {
  /** Ordinal behind the last row that an earlier part answered. */
  readonly answeredUpTo: number
  readonly #own: OwnedRun
  readonly #scope: string
  readonly #holds: Holds
  readonly bulks: BulkRequests
  /** What the answers of this run identify besides their own rows. Later parts note it again. */
  readonly stated: StatedInRun
  readonly #duplicates: DuplicateAnswers
  readonly #turns: RunTurns | undefined
  /** Range of rows that may have been sent and have no recorded answer. */
  #sent: { from: number; to: number }
  #done: number

  constructor(
    private readonly driver: Driver,
    private readonly run: JournalledRun,
    private readonly options: JournalOptions,
  ) {
    this.answeredUpTo = options.answeredUpTo
    this.#own = { number: run.number, fence: options.fence ?? '' }
    this.#scope = scopeOf(run, options.budget)
    this.#sent = { from: run.sentFrom, to: run.sentTo }
    this.#done = run.done
    this.#duplicates = new DuplicateAnswers(run.number, options.window)
    this.stated = new StatedInRun(driver, run.number)
    this.#holds = new Holds(run)
    const { turns, now, notBefore = 0 } = options
    this.#turns = turns && new RunTurns(driver, run, { ...turns, now, notBefore })
    this.bulks = new BulkRequests(driver, run, options, this.#holds)
  }

  /** Returns answers that earlier parts of the run have for a range of rows, by ordinal. Ranges come in order. */
  async resume(from: number, to: number): Promise<ReadonlyMap<number, RowOutcome>> {
    const { sentFrom, sentTo, number } = this.run
    const bulksTo = await this.bulks.to()
    if (from >= Math.max(this.answeredUpTo, sentTo, bulksTo)) {
      this.#holds.resume()
      this.bulks.pass()
      return none
    }
    const kept = await this.driver.read(async (connection) => {
      await this.bulks.read(connection, from, to)
      return answersOf(connection, number, from, to)
    })
    const answers = new Map<number, RowOutcome>()
    const open = new Set<number>()
    for (let at = Math.max(from, sentFrom); at < Math.min(to, sentTo); at++) open.add(at)
    for (const at of this.bulks.begin(kept)) open.add(at)
    const failed = new Set<number>()
    for (const { ordinal, answer, source, answeredAt } of kept) {
      const isOpen = isUnknown(answer) && !this.#isFinal(answer)
      if (!isUnknown(answer)) open.delete(ordinal)
      if (isOpen) this.#holds.retried.add(ordinal)
      const stored = source === 'store' ? { storedAt: answeredAt } : {}
      if (this.#isFinal(answer))
        answers.set(ordinal, { answer, source, credits: answer.credits, kept: true, ...stored })
      else (isOpen ? open : failed).add(ordinal)
    }
    this.#holds.resume(open, failed)
    return answers
  }

  /** Whether an earlier part may have sent a row of the range resumed last: only its key shows whether it was paid for. */
  isMaybeSent(ordinal: number): boolean {
    return this.#holds.covered.has(ordinal)
  }

  /** Whether a row keeps its answer when its run is resumed. */
  #isFinal({ status, error }: RowAnswer): boolean {
    const { missing, others, mayRepeat, retryUnknown } = this.options
    if (status !== 'failed' || missing) return true
    return error === unknownAnswer.error ? !mayRepeat && !retryUnknown : others !== undefined
  }

  /** Returns the answers of equal rows, in the order of the given ones; `undefined` where there is none. */
  async recall(rows: readonly JournalRow[]): Promise<readonly (RowOutcome | undefined)[]> {
    const { mayRepeat, retryUnknown, missing, others, store, samples } = this.options
    const isAsked = store !== undefined || samples !== undefined || rows.some(({ repeats }) => repeats)
    const found = isAsked ? await this.driver.read((connection) => this.#findAll(connection, rows)) : []
    // Their answers are recorded for other rows.
    this.#turns?.release(rows.filter((_, at) => found[at]?.source === 'duplicate'))
    if (!missing && !others && (this.#holds.covered.size === 0 || mayRepeat || retryUnknown)) return found
    return rows.map(({ ordinal }, at) => found[at] ?? this.#lost(ordinal))
  }

  async #findAll(connection: Connection, rows: readonly JournalRow[]): Promise<(RowOutcome | undefined)[]> {
    const indexed = await indexedHashes(connection, rows)
    const isKnown = (row: JournalRow) => indexed.has(row.hash) || this.#duplicates.isRecent(row)
    // All at once: the queries to a remote database need not wait for each other.
    return Promise.all(rows.map((row) => (isKnown(row) ? this.#find(connection, row) : undefined)))
  }

  /** Returns the answer of a row that must not be sent and has none. */
  #lost(ordinal: number): RowOutcome | undefined {
    const { missing, others } = this.options
    const isCovered = this.#holds.covered.has(ordinal)
    const fixed = missing ?? (isCovered ? undefined : others)
    if (fixed) return { answer: { ...fixed, body: undefined, credits: 0 }, source: null, credits: 0 }
    return isCovered && !others ? { answer: unknownAnswer, source: 'live', credits: 0 } : undefined
  }

  async #find(connection: Connection, row: JournalRow): Promise<RowOutcome | undefined> {
    const { hash, identity, repeats } = row
    const { others, retryUnknown } = this.options
    const isSent = retryUnknown && (!others || this.#holds.covered.has(row.ordinal))
    const equal = repeats ? await this.#duplicates.find(connection, row, isSent) : undefined
    if (equal) return { answer: equal, source: 'duplicate', credits: 0 }
    const { store, samples, now, notBefore = 0 } = this.options
    if (hash === undefined || identity === undefined) return undefined
    const lookup = { ...this.run, hash, identity }
    const sampled = samples && (await storedAnswer(connection, lookup, notBefore, samples))
    const maxAgeMs = store && Math.min(store.maxAgeMs, this.#sentMaxAgeOf(row.ordinal))
    const since = maxAgeMs ? Math.max(notBefore, now() - maxAgeMs) : undefined
    const stored =
      sampled ?? (since === undefined ? undefined : await storedAnswer(connection, lookup, since))
    if (!stored) return undefined
    const mark = sampled ? { sampled: true as const } : {}
    const { answer, place, answeredAt } = stored
    return { answer, source: 'store', credits: 0, origin: place, storedAt: answeredAt, ...mark }
  }

  /** Returns the age of stored answers below which a row was not sent by earlier parts. */
  #sentMaxAgeOf(ordinal: number): number {
    const { sentMaxAgeMs = Number.POSITIVE_INFINITY } = this.options
    return this.#holds.covered.has(ordinal) ? sentMaxAgeMs : Number.POSITIVE_INFINITY
  }

  /** Has equal rows of other runs wait for these. Returns the ordinals that another run has under way, if there are any. */
  async takeTurns(rows: readonly AskedRow[]): Promise<ReadonlySet<number> | undefined> {
    return this.#turns?.take(rows)
  }

  /** Records rows before they are sent, as many as the budget permits. */
  async plan(wanted: readonly WantedRow[]) {
    const { budget, quota, now } = this.options
    const rows = quota ? quota.fitting(wanted) : wanted
    const { id } = this.run
    const { grants, shortage } = await this.driver.transaction(async (connection) => {
      if (budget.perDay !== undefined) await settleDays(connection, this.run.profile, now())
      const left = await budgetLeft(connection, this.run, budget, now())
      const granted = grantCredits(rows, left, this.#holds.claims())
      const last = rows[granted.length - 1]
      if (last === undefined) return { grants: granted, shortage: left.shortage }
      this.#mark(rows[0]?.ordinal ?? 0, last.ordinal + 1)
      const { from, to } = this.#sent
      const limit = granted[0]?.limit ?? null
      const credits = granted.reduce((sum, grant) => sum + grant.credits, 0)
      const values = [credits, this.#done, now(), from, to, limit === null ? null : last.ordinal, limit]
      const recorded = changeRun(connection, this.#own, planSql, ...values)
      if (recorded) await recorded
      return { grants: granted, shortage: granted.length < rows.length ? left.shortage : undefined }
    }, this.#scope)
    // Where a row could be paid twice, the record that it was sent has to survive a power cut.
    if (!this.options.mayRepeat) await this.driver.flush()
    const planned = grants.map(({ credits, limit }, at): PlannedRow => {
      const row = rows[at] as WantedRow
      const { ordinal } = row
      const lowered = this.#holds.loweredOf(ordinal) ?? limit
      const isCovered = this.#holds.covered.has(ordinal)
      this.#holds.hold(ordinal, isCovered ? this.#holds.heldFor(row) : credits, isCovered)
      quota?.hold(row)
      // A lower limit would be another request than the one that was sent under that key.
      // A row that an earlier part sent without a turn has the key of its own.
      const isFree = lowered === undefined && this.#sentMaxAgeOf(ordinal) > 0
      const left = isFree ? this.#turns?.leftOf(ordinal) : undefined
      if (left) return left
      const sent = { run: id, ordinal, fresh: !this.#holds.sent.has(ordinal) }
      return { key: `${id}-${ordinal}`, row: sent, ...(lowered === undefined ? {} : { limit: lowered }) }
    })
    return { planned, shortage: rows.length < wanted.length ? quota?.shortage : shortage }
  }

  get #spender(): Spender {
    return { ...this.run, member: this.options.member }
  }

  #mark(from: number, to: number): void {
    const { from: before, to: after } = this.#sent
    this.#sent = before === after ? { from, to } : { from: Math.min(from, before), to: Math.max(to, after) }
  }

  /** Records answers, which equal rows then recall. */
  async keep(rows: readonly AnsweredRow[]): Promise<void> {
    const { now, missing } = this.options
    if (missing) return
    const { number } = this.run
    const { credits, calls, released, unknown } = this.#holds.changeBy(rows)
    const indexes = this.#duplicates.isFullBefore(rows)
    const bulks = this.bulks.changesBy(rows)
    const over = this.#turns?.overAfter(rows) ?? []
    await this.driver.transaction(async (connection) => {
      const moment = now()
      const values = [credits, released, released, unknown, this.#done]
      await Promise.all([
        changeRun(connection, this.#own, keepSql, ...values),
        keepAnswers(connection, number, rows, moment),
      ])
      if (indexes) await this.#duplicates.index(connection)
      await this.bulks.recordChanges(connection, bulks)
      await this.#turns?.dropOver(connection, over)
      await indexShared(connection, this.run, rows)
      if (calls > 0) await countSpent(connection, this.#spender, { credits, calls }, moment)
    }, this.#scope)
    this.bulks.settle(rows)
    this.#duplicates.add(rows, indexes)
    this.#holds.settle(rows)
    this.options.quota?.settle(rows)
  }

  /** Notes that every row before the ordinal `cleared` has a recorded answer, and that `rows` rows are in the output. */
  async written(cleared: number, rows: number): Promise<void> {
    // A part that stops before the end of an earlier one leaves the answers of that.
    this.#done = Math.max(this.#done, rows)
    const { from, to } = this.#sent
    if (cleared > from) this.#sent = { from: Math.min(cleared, to), to }
  }

  /** Resolves when all recorded answers survive a power cut. */
  flush(): Promise<void> {
    return this.driver.flush()
  }

  async end({ complete, certain, cleared, invalid, doubted = 0 }: RunEnd): Promise<void> {
    const { missing, others, now } = this.options
    this.stated.close()
    if (missing) return
    const { sentTo } = this.run
    // Rows of earlier parts that still have no answer remain open.
    const from = Math.max(cleared, this.run.sentFrom)
    const sent = !certain ? this.#sent : from < sentTo ? { from, to: sentTo } : { from: 0, to: 0 }
    const isSettled = certain && from >= sentTo
    await this.driver.transaction(async (connection) => {
      await this.#duplicates.index(connection)
      // Otherwise they show which rows may have been paid for.
      if (certain && from >= sentTo) await this.#turns?.drop(connection)
      const status = complete || others ? 'finished' : 'stopped'
      const released = certain ? this.#holds.leftBut((at) => this.bulks.has(at)) : 0
      const { number } = this.run
      // It may have been redacted meanwhile.
      const { request = '{}' } = (await connection.get<Pick<Run, 'request'>>(requestSql, number)) ?? {}
      const record = toJson({ ...(parseJson(request) as object), invalid })
      const values = [status, this.#done, now(), sent.from, sent.to, record]
      await changeRun(connection, this.#own, endSql, ...values, isSettled ? 1 : 0, released, released)
      if (doubted > 0) await countSpent(connection, this.#spender, { credits: 0, calls: 0, doubted }, now())
    }, this.#scope)
  }
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

const isKnown = ({ answer }: AnsweredRow): boolean => !isUnknown(answer)
const sumOf = (credits: readonly number[]): number => credits.reduce((sum, one) => sum + one, 0)

/** The requests of a run for several rows, in a state database. */
class BulkRequests {
  readonly #own: OwnedRun
  readonly #scope: string
  readonly #rows = new Map<number, OpenRow>()
  /** By request, the number of its rows without a known answer. */
  readonly #left = new Map<number, number>()
  /** Requests of earlier parts whose first row is in the range resumed last. */
  #range: readonly Bulk[] = []
  #to: number | undefined

  constructor(
    private readonly driver: Driver,
    private readonly run: JournalledRun,
    private readonly options: JournalOptions,
    private readonly holds: Holds,
  ) {
    this.#own = { number: run.number, fence: options.fence ?? '' }
    this.#scope = scopeOf(run, options.budget)
  }

  /** Returns requests of earlier parts with rows of the range resumed last, of which one has no answer yet. */
  open(): readonly Bulk[] {
    const { missing, mayRepeat, retryUnknown } = this.options
    if (missing) return []
    const sent = this.#range.filter(({ accepted }) => accepted || mayRepeat || retryUnknown)
    return sent.map((bulk) => (this.#isGivenUp(bulk) ? { ...bulk, isGivenUp: true } : bulk))
  }

  /** Whether the target accepted a request, and has no results for its remaining rows. */
  #isGivenUp({ accepted, ordinals }: Bulk): boolean {
    const left = ordinals.filter((ordinal) => this.has(ordinal))
    return (
      accepted !== undefined &&
      this.options.retryUnknown &&
      left.every((ordinal) => this.holds.retried.has(ordinal))
    )
  }

  /** Records rows as one request before it is sent, as many as the budget permits; none below `least`. */
  async plan(rows: readonly WantedRow[], least: number) {
    const { budget, now } = this.options
    const { bulk, wanted, shortage } = await this.driver.transaction(async (connection) => {
      if (budget.perDay !== undefined) await settleDays(connection, this.run.profile, now())
      const left = await budgetLeft(connection, this.run, budget, now())
      const grants = grantCredits(rows, left, this.holds.claims())
      if (grants.length < least) return { wanted: [], shortage: left.shortage }
      const some = rows.slice(0, grants.length)
      const credits = sumOf(grants.map((grant) => grant.credits))
      const made = await this.#add(connection, some)
      await changeRun(connection, this.#own, 'reserved = reserved + ?, ended_at = ?', credits, now())
      return { bulk: made, wanted: some, shortage: left.shortage }
    }, this.#scope)
    await this.#flush()
    for (const { ordinal, most } of wanted) {
      this.holds.hold(ordinal, most, this.holds.covered.has(ordinal))
      if (bulk) this.#note(ordinal, bulk, !this.holds.retried.has(ordinal))
    }
    return { bulk, shortage }
  }

  async #add(connection: Connection, rows: readonly WantedRow[]): Promise<Bulk> {
    const ordinals = rows.map(({ ordinal }) => ordinal)
    const counted = rows.filter(({ ordinal }) => !this.holds.retried.has(ordinal))
    const reserved = sumOf(counted.map(({ most }) => most))
    const values = [this.run.number, ordinals[0] ?? 0, JSON.stringify(ordinals), reserved]
    const made = await connection.get<BulkRow>(addSql, ...values)
    if (!made) throw new Error('a request was not recorded')
    return this.#bulkOf(made, true)
  }

  /** Where a request could be paid twice, the record that it was sent has to survive a power cut. */
  async #flush(): Promise<void> {
    if (!this.options.mayRepeat) await this.driver.flush()
  }

  /** Resumes a request of an earlier part. Returns the shortage where a lowered budget leaves too little for its rows. */
  async reopen({ accepted }: Bulk, rows: readonly WantedRow[]) {
    const { budget, now } = this.options
    const covered = rows.filter(({ ordinal }) => this.holds.covered.has(ordinal))
    // The cost of accepted work is fixed; only its results are requested.
    const left = await this.driver.read(async (reads) => {
      await checkOwn(reads, this.#own)
      return accepted ? undefined : budgetLeft(reads, this.run, budget, now())
    })
    if (left && grantCredits(covered, left, this.holds.claims()).length < covered.length) return left.shortage
    // For a row that failed, nothing is set aside any more; it is sent with the others.
    for (const { ordinal, most } of rows)
      this.holds.hold(ordinal, this.holds.covered.has(ordinal) ? most : 0, true)
    return undefined
  }

  /** Records that the target accepted the request; from now on only its results are requested. */
  async accept({ number }: Bulk, accepted: Accepted): Promise<void> {
    await this.driver.transaction(async (connection) => {
      await checkOwn(connection, this.#own)
      await connection.run(acceptSql, JSON.stringify(accepted), number)
    }, this.#scope)
    await this.#flush()
  }

  /** Deletes a request that certainly had no effect. */
  async withdraw({ number, ordinals }: Bulk): Promise<void> {
    const released = this.holds.freshOf(ordinals)
    await this.driver.transaction(async (connection) => {
      await connection.run(dropSql, number)
      await changeRun(connection, this.#own, releaseSql, released, released)
    }, this.#scope)
    this.holds.release(ordinals)
    for (const ordinal of ordinals)
      if (this.#rows.get(ordinal)?.number === number) this.#forget(ordinal, number)
  }

  /** Whether a row waits for the answer to a request that it shares with others. */
  has(ordinal: number): boolean {
    return this.#rows.has(ordinal)
  }

  /** Returns the ordinal behind the first row of the last request of earlier parts. */
  async to(): Promise<number> {
    this.#to ??= await this.driver.read(async (connection) => {
      const last = await connection.get<{ first: number | null }>(lastSql, this.run.number)
      return last?.first == null ? 0 : last.first + 1
    })
    return this.#to
  }

  /** Reads the requests of a range of rows; their rows never lie outside of it. */
  async read(connection: Connection, from: number, to: number): Promise<void> {
    const rows = await connection.all<BulkRow>(rangeSql, this.run.number, from, to)
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

  /** Returns what answers release of each request, and whether all its rows have known answers then. */
  changesBy(rows: readonly AnsweredRow[]) {
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
  async recordChanges(connection: Connection, changes: ReturnType<BulkRequests['changesBy']>): Promise<void> {
    for (const { number, released, closed } of changes)
      if (closed) await connection.run(dropSql, number)
      else await connection.run(changeSql, released, released, number)
  }

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
    const { id } = this.run
    return {
      number,
      ordinals: JSON.parse(ordinals) as number[],
      key: `${id}-bulk-${number}`,
      row: { run: id, ordinal: firstOrdinal + number, fresh },
      accepted: accepted === null ? undefined : (JSON.parse(accepted) as Accepted),
    }
  }
}
