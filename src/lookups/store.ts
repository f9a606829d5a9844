import type { Input, RunRow } from '../api/calls/caller.js'
import { askedLaterIn, lostIn } from '../api/operations/table.js'
import { parseExact, parseJson, toJson } from '../api/values/json.js'
import { pickFields } from '../api/values/objects.js'
import {
  boundInteger,
  boundText,
  type Connection,
  type Driver,
  insertList,
  portionsOf,
  readNumber,
  rowsPerRun,
  send,
  updateList,
  type Value,
} from '../storage/driver/connection.js'
import {
  type AnswerSource,
  type BudgetShortage,
  isHidden,
  isUnknown,
  type RowAnswer,
  type RowOutcome,
  type RowStatus,
  unknownAnswer,
} from './answer.js'
import {
  type Budgets,
  budgetOver,
  countBudget,
  countSpent,
  holdBudget,
  lockDays,
  type Scopes,
  scopesOf,
} from './budgets.js'
import { changeRun, checkOwn, heardAt, type OwnedRun } from './leases.js'

/** Begins what the hidden runs are known by that hold single lookups, one for each process. */
export const lookupsMark = 'lookups-'

/** A process numbers its single lookups in a block of its own, since keys derive from the numbers. */
export const blockSize = 1_000_000_000

/** SQL for whether the last process of a run of single lookups left some of them open. */
export const leavesOpen = `EXISTS (SELECT 1 FROM lookups l WHERE l.run = runs.number
  AND l.row >= ${blockSize} * CAST(runs.requests AS BIGINT) AND l.state IN ('asked', 'accepted'))`

/** A row of a run as a lookup: equal ones have the same identity. */
export interface LookupRow {
  /** Number of the row, counted from 0 after the header. */
  readonly ordinal: number
  readonly identity: string | undefined
  /** Hash of the identity, a whole number of 53 bits. */
  readonly hash: number | undefined
  /** Hashes of other identities under which the same may have been looked up before; the answer shows whether it was. */
  readonly otherHashes?: readonly number[]
  /** Its maximum cost in credits. */
  readonly most: number
  /** How much of a quota it can use up. */
  readonly units?: number
  /** Price of one record, where a lower `limit` makes the row cheaper. */
  readonly perRecord?: number | undefined
  readonly input: Input
  /** False for one that has no equal row in its run. */
  readonly repeats?: boolean
  /** How old an answer may be that it takes, where that is less than its run says. */
  readonly maxAgeMs?: number | undefined
  /** The key that it is sent under where nobody has sent it yet, if that is none of its run. */
  readonly key?: string | undefined
  /** Whether it goes with others in a request that has a key of its own: then nothing is sent under the key of this one. */
  readonly isItem?: boolean
}

/** A lookup that this process has to send; it is recorded, and its maximum cost is held. */
export interface Ask {
  readonly ordinal: number
  /** The same every time that it is sent. */
  readonly key: string
  /** Absent where the key is that of a single lookup. */
  readonly row: RunRow | undefined
  /** What was sent under this key before, maybe in another spelling, or with the limit that the budget permits. */
  readonly input: Input | undefined
  readonly held: number
  readonly units: number
  /** Whether nobody can have sent it before: this execution of the run has recorded it, under a key of its own. */
  readonly isNew: boolean
  /** The lower `limit` that it is sent with. */
  readonly limit?: number | undefined
  /** How an earlier execution sent it, of rows that may be sent together; absent where it did not, or was refused. */
  readonly sentAs?: 'together' | 'alone' | undefined
  /** What the target has accepted. */
  readonly work?: Work | undefined
}

/**
 * Accepted work: its id, and of a row that was sent together with others its part and its position; and whether another run
 * sent it, whose rows have other numbers.
 */
export interface Work {
  readonly id: string
  readonly part: string | null
  readonly at: number
  readonly isTaken?: true
}

/** Returns the work of a single lookup. */
export const workOf = (id: string): Work => ({ id, part: id, at: 0 })

/** A lookup that work was started for. */
export interface StartedLookup {
  readonly run: number
  readonly row: number
  readonly work: string
  readonly key: string | null
  readonly payer: string | null
  readonly identity: string
  readonly hash: number
}

/** What becomes of a row. */
export type Claim =
  | { readonly is: 'answered'; readonly outcome: RowOutcome }
  | { readonly is: 'ask'; readonly ask: Ask }
  /** An equal row of this run is asked. */
  | { readonly is: 'follow'; readonly ordinal: number }
  /** Another process asks an equal lookup. */
  | { readonly is: 'busy' }
  | { readonly is: 'short'; readonly shortage: BudgetShortage }

/** A row with what it is sent with; without that, it is certainly not sent. */
interface SentRow {
  readonly ordinal: number
  readonly input?: Input | undefined
}

/** The run and the row that have an answer in full. */
export type Origin = readonly [run: number, row: number]

/** A row with its answer. */
export interface Settled extends LookupRow {
  readonly answer: RowAnswer
  readonly source: AnswerSource
  /** What it was sent as; absent for one that takes the answer of the equal row `from`. */
  readonly ask?: Ask | undefined
  readonly from?: number | Origin | undefined
  /** Whether that row was asked for in another spelling. */
  readonly isSpelling?: boolean
}

export interface LookupsOfRun {
  readonly number: number
  readonly id: string
  readonly identityKey: string
  readonly operation: string
  readonly target: string
  readonly workspace: string
  readonly profile: string
}

/** How answers show that they answer other lookups, too. */
export interface Stating {
  /** Whether an answer to some lookup is that to the one with an identity. */
  readonly answers: (identity: string, body: unknown) => boolean
  /** Returns the hashes of the identities that the answer to a lookup by name or email states; nothing for other lookups. */
  readonly hashesIn: (identity: string, body: unknown) => readonly number[]
  /** How the identities of lookups by name or email begin. */
  readonly weakPrefixes: readonly string[]
}

export interface LookupOptions {
  /** Real time. */
  readonly now: () => number
  readonly budgets: Budgets
  /** Whether a row may be sent again under its key without being paid twice. */
  readonly mayRepeat: boolean
  /** How long the target has a key with its reply, in milliseconds; for ever where it is absent. */
  readonly keyLifeMs?: number | undefined
  /** Sends rows again whose outcome is unknown. */
  readonly retryUnknown: boolean
  /** Whether the target charges nothing twice whatever key it is sent under, as the engine of this machine. */
  readonly chargesOnce?: boolean
  readonly fence?: string | undefined
  /** Email of the member who pays. */
  readonly member?: string | undefined
  /** How old answers of other runs may be that are taken; none are taken where it is absent. */
  readonly maxAgeMs?: number | undefined
  /** Real time before which no answer of another run was given that is taken. */
  readonly notBefore?: number | undefined
  /**
   * Whether a process holds the lock with this name; asked within the transaction, since a killed run may be resumed at any
   * time. Absent where equal lookups of other runs are not waited for.
   */
  readonly isAlive?: ((holder: string, connection: Connection) => Promise<boolean>) | undefined
  /** Whether rows are sent together: then what they are sent with is recorded when that is decided, not when they are claimed. */
  readonly isTogether?: boolean
  /** Data vendors that have a budget again: rows that nobody found, and that it had left out, are looked up again. */
  readonly askAgain?: ReadonlySet<string> | undefined
  /** Runs of samples of the same file, whose answers are taken whatever their age. */
  readonly samples?: ReadonlySet<number> | undefined
  /** Absent where an answer is that to its own lookup only. */
  readonly stating?: Stating | undefined
  /** Of a finished run, the answer of rows that have none: only rows of unknown outcome are sent. */
  readonly others?: Pick<RowAnswer, 'status' | 'error'> | undefined
  /** The answer of rows that have none. Nothing is sent or recorded. */
  readonly missing?: Pick<RowAnswer, 'status' | 'error'> | undefined
}

interface StoredLookup {
  readonly run: number
  readonly row: number
  readonly state: RowStatus | 'asked' | 'accepted' | 'unknown'
  readonly identity: string | null
  readonly key: string | null
  readonly input: string | null
  readonly work: string | null
  readonly held: number
  readonly cost: number
  readonly source: AnswerSource
  readonly from_run: number | null
  readonly from_row: number | null
  readonly error: string | null
  readonly body: string | null
  readonly asked_at: number
  readonly answered_at: number | null
}

interface EqualLookup extends Omit<StoredLookup, 'cost' | 'source' | 'body'> {
  /** What it was found by: its own hash, or that of what its answer states. */
  readonly hash: number
  readonly payer: string | null
  readonly id: string
  readonly status: string
  readonly known_by: string
}

/** Rows that are claimed in one transaction: what is read before, and what is to be written. */
interface ClaimedRows {
  readonly connection: Connection
  readonly now: number
  readonly equal: ReadonlyMap<number, readonly EqualLookup[]>
  /** By row, the answers of equal lookups. */
  readonly served: ReadonlyMap<number, RowOutcome>
  readonly budget: Awaited<ReturnType<typeof budgetOver>>
  /** What the budgets leave for rows that earlier executions have sent, beside what this process has under way. */
  room: number
  /** By key, what sending rows again needs that were sent together. */
  readonly needs: Map<string | null, number>
  /** By name of their lock, whether other processes are alive. */
  readonly alive: Map<string, boolean>
  /** Rows of this run that an earlier execution left, and that an equal one has taken. */
  readonly taken: Set<number>
  readonly isUnderWay: (ordinal: number) => boolean
  /** By identity, the rows of the portion that are sent, and the answers of others. */
  readonly firsts: Map<string, number>
  readonly answered: Map<string, RowOutcome>
  readonly asked: Value[][]
  readonly known: Value[][]
  readonly work: (() => unknown)[]
  held: number
  units: number
  shortage: BudgetShortage | undefined
}

const types = {
  run: 'BIGINT',
  row: 'BIGINT',
  state: 'TEXT',
  hash: 'BIGINT',
  identity: 'TEXT',
  key: 'TEXT',
  input: 'TEXT',
  work: 'TEXT',
  held: 'BIGINT',
  cost: 'BIGINT',
  payer: 'TEXT',
  source: 'TEXT',
  from_run: 'BIGINT',
  from_row: 'BIGINT',
  error: 'TEXT',
  body: 'TEXT',
  asked_at: 'BIGINT',
  answered_at: 'BIGINT',
} as const
const [, , ...replaced] = Object.keys(types).map((column) => `${column} = excluded.${column}`)

/** Returns the INSERT of lookups with these columns, in place of what is recorded of them. Values take long to bind. */
const putting = (...columns: readonly (keyof typeof types)[]) =>
  insertList(
    'lookups',
    pickFields(types, columns),
    `ON CONFLICT (run, row) DO UPDATE SET ${replaced.join(', ')}`,
  )
const looked = ['run', 'row', 'state', 'hash', 'identity'] as const
const putAsked = putting(...looked, 'key', 'input', 'work', 'held', 'asked_at')
const putAnswered = putting(...looked, 'source', 'from_run', 'from_row', 'error', 'asked_at', 'answered_at')
const putSingle = putting(...looked, 'key', 'payer', 'error', 'body', 'asked_at', 'answered_at')
const putAccepted = putting(...looked, 'key', 'work', 'payer', 'asked_at')
const rangeSql = `SELECT l.run, l.row, l.state, l.identity, l.key, l.input, l.work, l.held, l.cost, l.source,
  l.from_run, l.from_row, l.error, coalesce(l.body, o.body) AS body, l.asked_at, l.answered_at
  FROM lookups l LEFT JOIN lookups o ON o.run = l.from_run AND o.row = l.from_row
  WHERE l.run = ? AND l.row >= ? AND l.row < ?`
const equalSql = `SELECT l.run, l.row, l.state, e.hash, l.identity, l.key, l.input, l.work, l.held, l.payer, l.error,
  l.asked_at, l.answered_at, l.from_run, l.from_row, r.id, r.status, r.known_by
  FROM equal_lookups e CROSS JOIN lookups l ON l.run = e.run AND l.row = e.row AND l.hash IS NOT NULL
  CROSS JOIN runs r ON r.number = l.run
  WHERE e.hash IN (SELECT atom FROM json_each(?)) AND (l.source <> 'store' OR l.run = ${boundInteger})
  AND l.state <> 'failed' AND l.state <> 'invalid'
  AND r.operation = ${boundText} AND r.target = ${boundText} AND (r.workspace = ${boundText} OR r.workspace = '')`
const equalTypes = { hash: 'BIGINT', run: 'BIGINT', row: 'BIGINT' } as const
const putEqual = insertList('equal_lookups', equalTypes, 'ON CONFLICT (hash, run, row) DO NOTHING')
const startedSql = `SELECT l.run, l.row, l.work, l.key, l.payer, l.identity, l.hash FROM runs r JOIN lookups l ON l.run = r.number
  WHERE l.work IN (SELECT value FROM json_each(?)) AND l.state = 'accepted' AND l.identity IS NOT NULL
  AND r.known_by LIKE '${lookupsMark}%' AND r.operation = ? AND r.target = ? AND r.workspace = ?`
const fromOrigins = `FROM json_each(?) CROSS JOIN lookups l
  ON l.run = CAST(value ->> 0 AS BIGINT) AND l.row = CAST(value ->> 1 AS BIGINT)`
const bodiesSql = `SELECT l.run, l.row, l.body ${fromOrigins}`
const standingSql = `SELECT l.run, l.row ${fromOrigins}
  WHERE l.state = 'found' OR l.state = 'not_found'`
const againSql = `UPDATE lookups SET state = ?, key = ?, work = CASE WHEN ? = 1 THEN NULL ELSE work END, input = ?,
  asked_at = coalesce(?, asked_at) WHERE run = ? AND row = ?`
// Of somebody who was forgotten meanwhile, nothing comes back but what it cost.
const unlessForgotten = (column: string, value: string) =>
  `${column} = CASE WHEN lookups.state = 'skipped' THEN lookups.${column} ELSE ${value} END`
/** How a lookup ended: `cut` where its identity goes, `stays` where its input is kept. */
const putEnded = updateList(
  'lookups',
  {
    ...pickFields(types, [
      'state',
      'error',
      'body',
      'held',
      'cost',
      'payer',
      'answered_at',
      'source',
      'run',
      'row',
    ]),
    cut: 'BIGINT',
    stays: 'BIGINT',
  },
  `${unlessForgotten('state', 'v.state')}, ${unlessForgotten('error', 'v.error')},
  ${unlessForgotten('body', 'v.body')}, identity = CASE WHEN v.cut = 1 THEN NULL ELSE lookups.identity END,
  input = CASE WHEN v.stays = 1 THEN lookups.input END, held = v.held, cost = v.cost, payer = v.payer,
  answered_at = v.answered_at, source = v.source`,
  'lookups.run = v.run AND lookups.row = v.row',
)

/** Requests for several rows are counted down from here, which no row of a file comes near. */
const lastOrdinal = rowsPerRun - 1
const rowKey = /^(?!lookup-)(.+)-(r?)(\d+)$/

/** Returns the row of a run that a key is for, or its request for several; `undefined` for that of a single lookup. */
export function rowOfKey(key: string, fresh: boolean): RunRow | undefined {
  const [, run, isRequest, digits] = rowKey.exec(key) ?? []
  if (run === undefined) return undefined
  const number = Number(digits)
  return { run, ordinal: isRequest ? lastOrdinal - number : number, fresh }
}

/** Whether a run is that of single lookups. */
const isSingle = ({ identityKey }: Pick<LookupsOfRun, 'identityKey'>): boolean =>
  identityKey.startsWith(lookupsMark)

/** Returns the key that a lookup is sent under where it has no other. That of a single one names no row of a run. */
const keyOf = (holder: string, run: string, ordinal: number): string =>
  holder.startsWith(lookupsMark) ? `lookup-${run}-${ordinal}` : `${run}-${ordinal}`

/** Whether a key is that of a request for several rows. */
export const isTogether = (key: string | null): boolean => key !== null && rowKey.exec(key)?.[2] === 'r'

/** An answer that a row took of an equal row, and where it is in full. */
type TakenAnswer = RowOutcome & Required<Pick<RowOutcome, 'from'>>

/** How many of them are at hand, each of so many letters at most: some megabytes. */
const mostTaken = 1_000
const mostTakenLength = 4_096

/** Whether equal rows take an answer; a failed lookup is repeated. */
const serves = (state: string): boolean => state === 'found' || state === 'not_found'

export type Lookups = Pick<StoredLookups, keyof StoredLookups>

/** Returns the lookups of a run, whose lock the caller holds. */
export async function openLookups(
  driver: Driver,
  run: LookupsOfRun,
  options: LookupOptions,
): Promise<Lookups> {
  const { missing, maxAgeMs, samples } = options
  const takesAnswers = maxAgeMs !== undefined || (samples?.size ?? 0) > 0
  if (!missing) await indexOthers(driver, run, takesAnswers, options.stating)
  return new StoredLookups(
    driver,
    run,
    options,
    await driver.read((reads) => answeredUpTo(reads, run.number)),
  )
}

/**
 * Returns the scope of a transaction that claims: lookups of another workspace are never equal. Where the workspace is not known
 * it is everything.
 */
export const claimScope = ({ target, workspace }: Pick<LookupsOfRun, 'target' | 'workspace'>): string =>
  workspace === '' ? '' : `lookups ${target} ${workspace}`

const unindexedSql = `SELECT number, target, workspace FROM runs
  WHERE operation = ? AND target = ? AND (workspace = ? OR workspace = '') AND indexed <> 1 ORDER BY number`
const othersSql = `SELECT 1 AS one FROM runs
  WHERE operation = ? AND target = ? AND status = 'running' AND number <> ? LIMIT 1`
const isIndexedSql = 'SELECT indexed FROM runs WHERE number = ?'
const beginIndexSql = 'UPDATE runs SET indexed = 2 WHERE number = ? AND indexed = 0'
const lastOfPortionSql = `SELECT max(row) AS row FROM (
  SELECT row FROM lookups WHERE run = ? AND row >= ? ORDER BY row LIMIT ?) AS portion`
const indexSql = `INSERT INTO equal_lookups (hash, run, row) SELECT hash, run, row FROM lookups
  WHERE run = ? AND row >= ? AND row <= ? AND hash IS NOT NULL AND source <> 'store'
  ORDER BY hash, row ON CONFLICT (hash, run, row) DO NOTHING`
const none: readonly never[] = []

/** Few enough that others wait for a moment only. */
const indexedAtOnce = 100_000

/** Lets a run find all lookups of others if it takes their answers, and those that are under way find all of it. */
async function indexOthers(
  driver: Driver,
  { number: own, operation, target, workspace }: LookupsOfRun,
  takesAnswers: boolean,
  stating: Stating | undefined,
): Promise<void> {
  const runs = await driver.read(async (connection) => {
    const found = await connection.all<Pick<LookupsOfRun, 'number' | 'target' | 'workspace'>>(
      unindexedSql,
      operation,
      target,
      workspace,
    )
    const isFollowed = found.length > 0 && (await connection.get(othersSql, operation, target, own))
    return found.filter(({ number }) => (number === own ? isFollowed : takesAnswers))
  })
  for (const run of runs) {
    const { number } = run
    const inScope = <T>(work: (connection: Connection) => T | Promise<T>) =>
      driver.transaction(work, claimScope(run))
    // From now on it adds each lookup that it makes.
    await inScope((connection) => connection.run(beginIndexSql, number))
    for (let from = 0; ; ) {
      const last = await inScope((connection) => indexPortion(connection, number, from))
      if (last === null) break
      from = last + 1
    }
    if (stating)
      for await (const portion of statedIn(driver, number, stating))
        await inScope((connection) => connection.dialect.writeRows(connection, putEqual, portion))
    await inScope((connection) => connection.run('UPDATE runs SET indexed = 1 WHERE number = ?', number))
  }
}

/** Indexes lookups of a run from a row on. Returns the last one's row; null where there was none. */
async function indexPortion(connection: Connection, run: number, from: number): Promise<number | null> {
  const found = await connection.get<{ row: number | null }>(lastOfPortionSql, run, from, indexedAtOnce)
  const last = found?.row ?? null
  if (last !== null) await connection.run(indexSql, run, from, last)
  return last
}

/** Yields what finds the answers of a run by what they state, in portions. */
async function* statedIn(driver: Driver, run: number, stating: Stating) {
  const begins = stating.weakPrefixes.map(() => 'identity LIKE ?').join(' OR ')
  const sql = `SELECT row, identity, hash, body FROM lookups WHERE run = ? AND row >= ? AND state = 'found'
    AND hash IS NOT NULL AND body IS NOT NULL AND (${begins}) ORDER BY row LIMIT ?`
  const starts = stating.weakPrefixes.map((start) => `${start}%`)
  const read = (last?: StatingLookup) =>
    driver.read((reads) =>
      reads.all<StatingLookup>(sql, run, last ? last.row + 1 : 0, ...starts, statedAtOnce),
    )
  for await (const answers of portionsOf(statedAtOnce, read)) {
    const stated = answers.flatMap(({ row, identity, hash, body }) =>
      stating.hashesIn(identity, parseJson(body)).flatMap((one) => (one === hash ? [] : [[one, run, row]])),
    )
    if (stated.length > 0) yield stated.sort(([one = 0], [other = 0]) => one - other)
  }
}

interface StatingLookup {
  readonly row: number
  readonly identity: string
  readonly hash: number
  readonly body: string
}

const statedAtOnce = 1_000

/** Returns the ordinal behind the last row of a run that is recorded. */
const answeredUpTo = (connection: Connection, run: number): Promise<number> =>
  readNumber(connection, 'SELECT coalesce(max(row) + 1, 0) AS rows FROM lookups WHERE run = ?', run)

/** The lookups of one run: each row is claimed, then sent where it has to be, then settled (decision 7). */
class StoredLookups {
  readonly #own: OwnedRun
  readonly #scopes: Scopes
  #done = 0
  /** Credits held for what this process has under way. */
  #underWay = 0
  /** What rows took lately of equal rows of the file, by identity: many files name a company again and again. */
  readonly #taken = new Map<string, TakenAnswer>()

  constructor(
    private readonly driver: Driver,
    private readonly run: LookupsOfRun,
    private readonly options: LookupOptions,
    /** Ordinal behind the last row that an earlier execution recorded. */
    readonly answeredUpTo: number,
  ) {
    this.#own = { number: run.number, fence: options.fence ?? '' }
    this.#scopes = scopesOf(run.number, run.profile)
  }

  /**
   * Claims rows in one transaction, before anything is sent: each is answered, or recorded to be sent by this process, or
   * somebody else sends an equal one, or a budget leaves too little. There are fewer claims than rows where `mostSent` are to
   * be sent: the last of them ends the claims. `isUnderWay` is asked of rows of this run: those that an earlier part left are not.
   *
   * The order within the transaction: the day is locked, where it has a budget, so that two runs cannot spend the same rest;
   * answers that serve a row are looked for, because what is paid for needs no budget; then the rest of the budget is read, and
   * each row takes its maximum from it, in the order of the file, so that a run always stops at the same row. At the end the
   * run is changed before its budgets: `settle` locks in the same order, and neither waits for the other for ever.
   */
  async claim(
    rows: readonly LookupRow[],
    isUnderWay: (ordinal: number) => boolean = () => true,
    mostSent: number = rows.length,
  ): Promise<readonly Claim[]> {
    if (this.options.missing)
      return (await this.peek(rows)).map((outcome) => ({ is: 'answered', outcome: outcome as RowOutcome }))
    const claims = await this.#claimNow(rows, isUnderWay, mostSent)
    // Where a row could be paid twice, the record that it was sent has to survive a power cut.
    if (!this.options.mayRepeat) await this.driver.flush()
    for (const claim of claims) if (claim.is === 'ask') this.#underWay += claim.ask.held
    return claims
  }

  async #claimNow(
    rows: readonly LookupRow[],
    isUnderWay: (ordinal: number) => boolean,
    mostSent: number,
  ): Promise<readonly Claim[]> {
    for (;;)
      try {
        return await this.driver.transaction(
          (connection) => this.#claimAll(connection, rows, isUnderWay, mostSent),
          claimScope(this.run),
        )
      } catch (error) {
        if (!(error instanceof LookupGone)) throw error
      }
  }

  /** Returns the outcomes that rows have without being sent; `undefined` where there is none. It records nothing. */
  peek(rows: readonly LookupRow[]): Promise<readonly (RowOutcome | undefined)[]> {
    const { missing, others } = this.options
    return this.driver.read(async (connection) => {
      const own = await this.#ownOf(connection, rows)
      const equal = missing ? new Map<number, EqualLookup[]>() : await this.#equalOf(connection, rows)
      const rest = rows.filter(({ ordinal }) => {
        const kept = own.get(ordinal)
        return !kept || (!missing && this.#isLeftOut(kept))
      })
      const served = await this.#servedOf(connection, rest, equal, () => true)
      const outcomes: (RowOutcome | undefined)[] = []
      for (const { ordinal } of rows) {
        const kept = own.get(ordinal)
        const outcome = kept ? this.#outcomeOf(kept) : served.get(ordinal)
        const fixed = missing ?? (kept ? undefined : others)
        outcomes.push(outcome ?? (fixed && fixedOutcome(fixed)))
      }
      return outcomes
    })
  }

  /**
   * Returns the work that was started for an equal single lookup and is not known to be over, with the key that it was started
   * under; `undefined` where there is none.
   */
  async acceptedFor(
    row: LookupRow,
  ): Promise<(Pick<StartedLookup, 'key' | 'payer'> & { readonly id: string }) | undefined> {
    const { maxAgeMs = 0, notBefore = 0, now } = this.options
    const since = Math.max(notBefore, now() - Math.min(maxAgeMs, row.maxAgeMs ?? maxAgeMs))
    return this.driver.read(async (connection) => {
      const [found] = this.#alike(connection, row, await this.#equalOf(connection, [row]))
        .filter((one) => one.state === 'accepted' && one.asked_at >= since)
        .sort((one, other) => other.asked_at - one.asked_at)
      if (!found?.work) return undefined
      return { id: (parseJson(found.work) as Work).id, key: found.key, payer: found.payer }
    })
  }

  /** Returns the single lookups that work was started for by its ids, which is not known to be over. */
  startedBy(ids: readonly string[]): Promise<readonly StartedLookup[]> {
    const { operation, target, workspace } = this.run
    const works = ids.map((id) => toJson(workOf(id)))
    return this.driver.read((connection) =>
      connection.all<StartedLookup>(startedSql, JSON.stringify(works), operation, target, workspace),
    )
  }

  /** Forgets a lookup whose work is over. */
  async forgetStarted({ run, row }: StartedLookup): Promise<void> {
    const sql = `DELETE FROM lookups WHERE run = ? AND row = ? AND state = 'accepted'`
    await this.driver.transaction((connection) => connection.run(sql, run, row), `run ${run}`)
  }

  /** Returns what earlier executions of the run recorded of a range of rows. */
  async #ownOf(
    connection: Connection,
    rows: readonly LookupRow[],
  ): Promise<ReadonlyMap<number, StoredLookup>> {
    const from = rows[0]?.ordinal ?? 0
    const to = (rows.at(-1)?.ordinal ?? 0) + 1
    if (from >= this.answeredUpTo) return new Map()
    const own = await connection.all<StoredLookup>(rangeSql, this.run.number, from, to)
    return new Map(own.map((one) => [one.row, one]))
  }

  /** Returns the recorded answers of some rows, and where they are in full. */
  answersOf(ordinals: readonly number[]) {
    return this.driver.read(async (connection) => {
      const found = new Map<number, { readonly answer: RowAnswer; readonly from: Origin }>()
      for (const ordinal of new Set(ordinals))
        for (const one of await connection.all<StoredLookup>(rangeSql, this.run.number, ordinal, ordinal + 1))
          if (!isOpen(one)) found.set(ordinal, { answer: answerOf(one), from: originOf(one) })
      return found
    })
  }

  async #equalOf(connection: Connection, rows: readonly LookupRow[]): Promise<Map<number, EqualLookup[]>> {
    const { operation, target, workspace } = this.run
    const hashes = rows.flatMap(({ hash, otherHashes = none }) =>
      hash === undefined ? [] : [hash, ...otherHashes],
    )
    if (hashes.length === 0) return new Map()
    const found = await connection.all<EqualLookup>(
      equalSql,
      JSON.stringify(hashes),
      this.run.number,
      operation,
      target,
      workspace,
    )
    return found.length === 0 ? new Map() : Map.groupBy(found, ({ hash }) => hash)
  }

  /** Returns the outcome that a row keeps; `undefined` where it is sent again. */
  #outcomeOf(kept: StoredLookup): RowOutcome | undefined {
    const { missing, others, retryUnknown } = this.options
    const { state, source, cost, answered_at: storedAt } = kept
    if (state === 'asked' || state === 'accepted') return undefined
    if (state === 'unknown' && !missing && (this.#mayRepeat(kept) || retryUnknown)) return undefined
    if (state === 'failed' && !missing && !others) return undefined
    if (!missing && this.#isLeftOut(kept)) return undefined
    const stored = source === 'store' || source === 'team' ? { storedAt: storedAt ?? 0 } : {}
    return { answer: answerOf(kept), source, credits: cost, kept: true, ...stored }
  }

  /** Whether a data vendor was not asked about a row that can be asked now. */
  #isLeftOut({ state, error }: Pick<StoredLookup, 'state' | 'error'>): boolean {
    const { askAgain } = this.options
    if (!askAgain?.size || state !== 'not_found') return false
    return askedLaterIn(error).some((name) => askAgain.has(name))
  }

  /** Returns by row the answers of equal lookups: of this run, or of another one that is young enough. */
  async #servedOf(
    connection: Connection,
    rows: readonly LookupRow[],
    equal: ReadonlyMap<number, readonly EqualLookup[]>,
    isUnderWay: (ordinal: number) => boolean,
  ): Promise<ReadonlyMap<number, RowOutcome>> {
    const served = new Map<number, RowOutcome>()
    if (equal.size === 0) return served
    const usable = rows.flatMap((row) => {
      const found = this.#usable(connection, row, equal, isUnderWay)
      return found ? [{ row, found, from: originOf(found.lookup) }] : []
    })
    const bodies = await bodiesOf(
      connection,
      usable.flatMap(({ found, from }) => (serves(found.lookup.state) ? [from] : [])),
    )
    for (const { row, found, from } of usable) {
      const { lookup, source, sampled } = found
      const text = bodies.get(String(from)) ?? null
      const written = isSingle(this.run) && text !== null ? { text } : {}
      const answer = { ...answerOf({ ...lookup, body: text, cost: 0 }), credits: 0, ...written }
      if (!this.#isAnswerTo(connection, row, lookup, answer.body)) continue
      const isOfFile = source === 'duplicate' && serves(lookup.state) && !isSingle(this.run)
      if (isOfFile && row.identity !== undefined && (text?.length ?? 0) <= mostTakenLength) {
        if (this.#taken.size >= mostTaken) this.#taken.clear()
        this.#taken.set(row.identity, { answer, source, credits: 0, from })
      }
      served.set(row.ordinal, {
        answer,
        source,
        credits: 0,
        from,
        ...(source === 'store' ? { storedAt: lookup.answered_at ?? 0 } : {}),
        ...(isSingle(this.run) ? { key: lookup.key, payer: lookup.payer } : {}),
        ...(sampled ? { sampled: true as const } : {}),
      })
    }
    return served
  }

  /** Returns what rows took lately that is these rows' answer, too, and stands: nobody has forgotten whom it is about. */
  async #takenBy(connection: Connection, rows: readonly LookupRow[]): Promise<Map<string, RowOutcome>> {
    const taken = new Map<string, TakenAnswer>()
    for (const { identity } of rows) {
      const found = identity === undefined ? undefined : this.#taken.get(identity)
      if (identity !== undefined && found) taken.set(identity, found)
    }
    if (taken.size === 0) return taken
    const origins = JSON.stringify([...taken.values()].map(({ from }) => from))
    const found = await connection.all<Pick<StoredLookup, 'run' | 'row'>>(standingSql, origins)
    const standing = new Set(found.map(({ run, row }) => String([run, row])))
    for (const [identity, { from }] of taken)
      if (!standing.has(String(from))) {
        taken.delete(identity)
        this.#taken.delete(identity)
      }
    return taken
  }

  /** Whether a row is not paid twice that is sent again under its key, which the target still has. */
  #mayRepeat({ input, asked_at: at }: Pick<StoredLookup, 'input' | 'asked_at'>): boolean {
    const { mayRepeat, keyLifeMs, now } = this.options
    return mayRepeat && (input === null || keyLifeMs === undefined || at > now() - keyLifeMs)
  }

  #alike(
    connection: Connection,
    { hash, identity, ordinal, otherHashes = none }: LookupRow,
    equal: ReadonlyMap<number, readonly EqualLookup[]>,
  ) {
    if (hash === undefined || identity === undefined || equal.size === 0) return []
    const text = connection.dialect.toStorableText(identity)
    return [hash, ...otherHashes]
      .flatMap((one) => equal.get(one) ?? [])
      .filter(
        (one) =>
          (one.identity === text || (one.identity === null ? this.#isCut(one, hash) : this.#mayState(one))) &&
          !(one.run === this.run.number && one.row === ordinal),
      )
  }

  /** Whether a lookup without its identity is the equal of those with a hash. */
  #isCut(one: EqualLookup, hash: number): boolean {
    return one.hash === hash && (this.#isOfRow(one) || isHiddenLookup(one))
  }

  /** Whether an answer may show that it answers a lookup with another identity, too. */
  #mayState({ state }: EqualLookup): boolean {
    return this.options.stating !== undefined && state === 'found'
  }

  /** Whether an answer is that to a row: the one to another lookup is so where it says whom it is about. */
  #isAnswerTo(connection: Connection, { identity }: LookupRow, lookup: EqualLookup, body: unknown): boolean {
    if (identity === undefined || lookup.identity === null) return true
    if (lookup.identity === connection.dialect.toStorableText(identity)) return true
    return this.options.stating?.answers(identity, body) === true
  }

  /** Whether it is of a row of the same file. Single lookups of one process have no more to do with each other. */
  #isOfRow({ run }: EqualLookup): boolean {
    return run === this.run.number && !isSingle(this.run)
  }

  #usable(
    connection: Connection,
    row: LookupRow,
    equal: ReadonlyMap<number, readonly EqualLookup[]>,
    isUnderWay: (ordinal: number) => boolean,
  ) {
    const { maxAgeMs, notBefore = 0, now, samples, retryUnknown, missing } = this.options
    if (missing) return undefined
    const alike = this.#alike(connection, row, equal)
    if (alike.length === 0) return undefined
    const own = alike.filter((one) => this.#isOfRow(one))
    const answered = own.find(
      (one) => (serves(one.state) && !this.#isLeftOut(one)) || one.state === 'skipped',
    )
    const unknown = retryUnknown ? undefined : own.find(({ state }) => state === 'unknown')
    const first = answered ?? unknown
    if (first) return { lookup: first, source: 'duplicate' as const, sampled: false }
    // What an earlier execution left may have been paid for; where its key does not show that, neither row is sent again.
    const left = own.find((one) => isOpen(one) && one.input !== null && !isUnderWay(one.row))
    if (left && !this.#mayRepeat(left) && !retryUnknown)
      return { lookup: { ...left, state: 'unknown' as const }, source: 'duplicate' as const, sampled: false }
    const others = alike
      .filter((one) => !this.#isOfRow(one) && (one.state === 'found' || isHiddenLookup(one)))
      .sort((one, other) => (other.answered_at ?? 0) - (one.answered_at ?? 0))
    const sampled =
      samples && others.find(({ run, answered_at: at }) => samples.has(run) && (at ?? 0) >= notBefore)
    if (sampled) return { lookup: sampled, source: 'store' as const, sampled: true }
    if (maxAgeMs === undefined) return undefined
    const since = Math.max(notBefore, now() - Math.min(maxAgeMs, row.maxAgeMs ?? maxAgeMs))
    const stored = others.find(({ answered_at: at }) => (at ?? 0) >= since)
    return stored && { lookup: stored, source: 'store' as const, sampled: false }
  }

  async #claimAll(
    connection: Connection,
    rows: readonly LookupRow[],
    isUnderWay: (ordinal: number) => boolean,
    mostSent: number,
  ): Promise<Claim[]> {
    const { run, options } = this
    const now = options.now()
    if (options.budgets.perDay !== undefined) await lockDays(connection, run.profile)
    const own = await this.#ownOf(connection, rows)
    const taken = await this.#takenBy(connection, rows)
    const others =
      taken.size === 0 ? rows : rows.filter(({ identity }) => identity === undefined || !taken.has(identity))
    const equal = await this.#equalOf(connection, others)
    const rest = others.filter(({ ordinal }) => {
      const kept = own.get(ordinal)
      return !kept || !serves(kept.state) || this.#isLeftOut(kept)
    })
    const served = await this.#servedOf(connection, rest, equal, isUnderWay)
    const budget = await budgetOver(connection, this.#scopes, options.budgets, now)
    const isIndexed = (await readNumber(connection, isIndexedSql, run.number)) !== 0
    const hasUnsettled = own.size > 0 && budget.isLimited
    const unknownHeld = hasUnsettled ? await readNumber(connection, unknownSql, run.number) : 0
    const room = budget.left + budget.held - unknownHeld - this.#underWay
    const portion: ClaimedRows = {
      connection,
      now,
      equal,
      served,
      budget,
      room,
      needs: needsOf(own.values()),
      alive: new Map(),
      taken: new Set(),
      isUnderWay,
      firsts: new Map(),
      answered: taken,
      asked: [],
      known: [],
      work: [],
      held: 0,
      units: 0,
      shortage: undefined,
    }
    const claims: Claim[] = []
    let sent = 0
    for (const row of rows) {
      if (sent === mostSent) break
      const kept = portion.taken.has(row.ordinal) ? undefined : own.get(row.ordinal)
      const outcome = kept ? this.#outcomeOf(kept) : options.others && fixedOutcome(options.others)
      if (kept?.state === 'asked' && kept.input === null) {
        // It was certainly not sent.
        budget.left += kept.held
        portion.held -= kept.held
      }
      if (outcome) claims.push({ is: 'answered', outcome })
      else if (kept && kept.state !== 'failed' && kept.input !== null)
        claims.push(this.#claimAgain(portion, row, kept))
      else claims.push(await this.#claimAnew(portion, row, kept !== undefined))
      if (claims.at(-1)?.is === 'ask') sent++
    }
    const single = new Set<Value>(
      isIndexed ? [] : rows.flatMap((row) => (row.repeats === false ? row.ordinal : [])),
    )
    const { asked, known } = portion
    const equals = [...asked, ...known].flatMap(([number = null, ordinal = null, , hash = null]) =>
      hash === null || single.has(ordinal) ? [] : [[hash, number, ordinal]],
    )
    // The run before its budgets, as when rows are settled: otherwise both would wait for each other.
    await changeRun(connection, this.#own, heardAt, now, now)
    for (const work of portion.work) await work()
    if (asked.length > 0) await connection.dialect.writeRows(connection, putAsked, asked)
    if (known.length > 0) await connection.dialect.writeRows(connection, putAnswered, known)
    if (equals.length > 0) await connection.dialect.writeRows(connection, putEqual, equals)
    const { held, units } = portion
    await holdBudget(connection, this.#scopes, { held, units }, now)
    return claims
  }

  /** Claims a row that an earlier execution may have sent: only its key shows whether it was paid for. */
  #claimAgain(portion: ClaimedRows, row: LookupRow, kept: StoredLookup): Claim {
    const { retryUnknown } = this.options
    const { connection, now, budget, needs, firsts, work } = portion
    const { number } = this.run
    const { ordinal, identity } = row
    const { state } = kept
    // Accepted work is only polled. What could be paid twice is not sent again.
    if (state !== 'accepted' && !this.#mayRepeat(kept) && !retryUnknown) {
      work.push(() => connection.run(lostSql, number, ordinal))
      return { is: 'answered', outcome: { answer: unknownAnswer, source: 'live', credits: 0 } }
    }
    // The target accepted it and had no result. It may have been paid for, so that only who asks for it has it sent anew.
    const isLost = state === 'unknown' && kept.work !== null && retryUnknown
    const isPolled = kept.work !== null && !isLost
    // What was sent together is sent again together.
    const need = isTogether(kept.key) ? (needs.get(kept.key) ?? 0) : needOf(kept)
    if (budget.isLimited && !isPolled && need > portion.room) {
      portion.shortage ??= budget.shortage
      return { is: 'short', shortage: portion.shortage }
    }
    // What was given back is held again.
    const isReleased = state === 'unknown' && kept.held === 0
    const grant = isReleased && !portion.shortage ? this.#grant(portion, row, 0) : undefined
    if (isReleased && (!grant || grant.limit !== undefined)) {
      portion.shortage ??= budget.shortage
      return { is: 'short', shortage: portion.shortage }
    }
    const held = grant?.held ?? kept.held
    if (grant) {
      budget.left -= held
      portion.room -= held
      portion.held += held
      work.push(() => connection.run(heldSql, held, number, ordinal))
    }
    portion.room -= need
    if (isTogether(kept.key)) needs.set(kept.key, 0)
    if (identity !== undefined) firsts.set(identity, ordinal)
    const key = isLost ? null : kept.key
    const sent = isLost ? toJson(row.input) : kept.input
    const values = [
      isPolled ? 'accepted' : 'asked',
      key,
      isLost ? 1 : 0,
      sent,
      isLost ? now : null,
      number,
      ordinal,
    ]
    work.push(() => connection.run(againSql, ...values))
    return { is: 'ask', ask: this.#askOf(row, key, isLost ? null : kept, held, false) }
  }

  /** Claims a row that was not sent, or whose lookup failed. */
  async #claimAnew(portion: ClaimedRows, row: LookupRow, wasSent: boolean): Promise<Claim> {
    const { run, options } = this
    const { connection, now, budget, firsts, answered } = portion
    const { ordinal, identity, hash, units = 0 } = row
    const equal = identity === undefined ? undefined : answered.get(identity)
    const outcome = equal ?? portion.served.get(ordinal)
    if (outcome) return this.#answeredAs(portion, row, outcome)
    const alike = this.#alike(connection, row, portion.equal).filter((one) => !this.#isTaken(portion, one))
    const mine = alike.find((one) => isOpen(one) && this.#isMine(one) && portion.isUnderWay(one.row))
    const first = (identity === undefined ? undefined : firsts.get(identity)) ?? mine?.row
    if (first !== undefined) return { is: 'follow', ordinal: first }
    const open = alike.filter((one) => isLeft(one) && (this.#isMine(one) || options.isAlive !== undefined))
    for (const one of open) if (await this.#isBusy(portion, one)) return { is: 'busy' }
    // A killed execution or run sent the same lookup: its key brings the reply that was paid for, and it is this row's now.
    const isHonoured = (one: EqualLookup) =>
      this.#mayRepeat(one) || (this.#isMine(one) && options.retryUnknown)
    const usable = open.find((one) =>
      one.state === 'accepted' ? this.#isCollectable(one) : isHonoured(one) && this.#isUsable(one, row),
    )
    if (!usable && open.some((one) => this.#isInDoubt(one, row)))
      return this.#answeredAs(portion, row, { answer: unknownAnswer, source: null, credits: 0 })
    const freed = usable && this.#isMine(usable) ? usable.held : 0
    const grant = portion.shortage ? undefined : this.#grant(portion, row, freed)
    if (!grant) return { is: 'short', shortage: portion.shortage ?? budget.shortage }
    const { held, limit } = grant
    const left = limit === undefined ? usable : undefined
    budget.left -= held - (left ? freed : 0)
    budget.unitsLeft -= units
    portion.room -= held
    portion.held += held
    portion.units += units
    if (identity !== undefined) firsts.set(identity, ordinal)
    if (left && this.#isMine(left)) portion.taken.add(left.row)
    if (left) portion.work.push(() => this.#take(connection, left))
    const key = left ? (left.key ?? keyOf(left.known_by, left.id, left.row)) : (row.key ?? null)
    const input = limit === undefined ? row.input : { ...row.input, limit }
    const sent = left?.input ?? (options.isTogether || row.isItem ? null : toJson(input))
    const work = left?.work ? toJson({ ...(parseJson(left.work) as Work), isTaken: true }) : null
    const state = work === null ? 'asked' : 'accepted'
    const at = left?.asked_at ?? now
    portion.asked.push([
      run.number,
      ordinal,
      state,
      hash ?? null,
      identity ?? null,
      key,
      sent,
      work,
      held,
      at,
    ])
    const was = left ? { input: left.input, work } : null
    const ask = this.#askOf(row, key, was ?? (wasSent ? { input: null } : null), held, left === undefined)
    return { is: 'ask', ask: limit === undefined ? ask : { ...ask, limit, input } }
  }

  /** Records an outcome that a row has without being sent. */
  #answeredAs(
    { answered, known, now }: ClaimedRows,
    { ordinal, identity, hash }: LookupRow,
    outcome: RowOutcome,
  ): Claim {
    if (identity !== undefined) answered.set(identity, { ...outcome, source: 'duplicate', credits: 0 })
    const { answer, source, from = [null, null], storedAt } = outcome
    const state = isUnknown(answer) ? 'unknown' : answer.status
    const found = source === 'store' ? (hash ?? null) : null
    const { number } = this.run
    const values = [number, ordinal, state, found, identity ?? null, source ?? 'live']
    // A single lookup is no row of a run: the answer that it takes is not recorded again.
    if (!isSingle(this.run)) known.push([...values, ...from, answer.error, now, storedAt ?? now])
    return { is: 'answered', outcome }
  }

  /**
   * Whether another run may have paid for the answer to a row, and nothing that is sent from here would bring it: it was sent
   * together with other rows, or the target does not have its key. Whoever wants it sent all the same retries what is unknown.
   */
  #isInDoubt(one: EqualLookup, row: LookupRow): boolean {
    const { maxAgeMs, notBefore = 0, now, retryUnknown } = this.options
    // A single lookup that is wanted all the same is made without asking here.
    const isWanted = retryUnknown && !isSingle(this.run)
    if (this.#isMine(one) || isWanted || one.input === null) return false
    // What was sent alone is sent again by a single lookup as it would be without a record.
    if (isSingle(this.run) && (this.options.chargesOnce || !isTogether(one.key))) return false
    if (maxAgeMs === undefined || one.asked_at < Math.max(notBefore, now() - maxAgeMs)) return false
    return reducedLimitOf(parseExact(one.input) as Input, row) === undefined
  }

  #isMine({ run }: EqualLookup): boolean {
    return run === this.run.number
  }

  #isTaken({ taken }: ClaimedRows, one: EqualLookup): boolean {
    return this.#isMine(one) && taken.has(one.row)
  }

  /** Returns what is held for a row; `undefined` where a budget leaves too little. */
  #grant(portion: ClaimedRows, { most, units = 0, perRecord }: LookupRow, freed: number) {
    const { budget, held } = portion
    if (units > budget.unitsLeft) portion.shortage = budget.shortageOfUnits
    else if (most > budget.left + freed) {
      portion.shortage = { ...budget.shortage, needed: perRecord ?? most }
      // A lower limit loses records, so it is the last resort: rows under way may still release credits.
      if (held === 0 && budget.held === 0 && perRecord !== undefined && budget.left >= perRecord) {
        const limit = Math.floor(budget.left / perRecord)
        return { held: limit * perRecord, limit }
      }
    }
    return portion.shortage ? undefined : { held: most, limit: undefined }
  }

  /** Whether another process asks a lookup. */
  async #isBusy({ connection, alive }: ClaimedRows, { state, status, known_by: holder }: EqualLookup) {
    if (state === 'unknown' || status !== 'running' || holder === this.run.identityKey) return false
    const known = alive.get(holder) ?? (await this.options.isAlive?.(holder, connection)) ?? false
    alive.set(holder, known)
    return known
  }

  /** Whether the answer to a row that another run sent can be told from those to the rows that it was sent with. */
  #isCollectable({ work, key }: EqualLookup): boolean {
    const { part } = parseJson(work ?? '{}') as Partial<Work>
    return work !== null && (typeof part === 'string' || !isTogether(key))
  }

  /** Whether the key of a lookup that was left brings its reply, which has as many records as are asked for. */
  #isUsable({ key, input, work, asked_at: at }: EqualLookup, row: LookupRow): boolean {
    if (work !== null || isTogether(key) || input === null || at < (this.options.notBefore ?? 0)) return false
    return reducedLimitOf(parseExact(input) as Input, row) === undefined
  }

  #askOf(
    row: LookupRow,
    key: string | null,
    was: (Pick<StoredLookup, 'input'> & Partial<Pick<StoredLookup, 'work'>>) | null,
    held: number,
    isNew: boolean,
  ): Ask {
    const { ordinal, units = 0 } = row
    const own = this.keyOf(ordinal)
    const fresh = was === null && key === null
    const input = was?.input ? (parseExact(was.input) as Input) : undefined
    return {
      ordinal,
      key: key ?? own,
      row:
        key !== null || isSingle(this.run)
          ? rowOfKey(key ?? own, fresh)
          : { run: this.run.id, ordinal, fresh },
      input,
      held,
      units,
      isNew,
      limit: input && reducedLimitOf(input, row),
      sentAs: key === null ? undefined : isTogether(key) ? 'together' : 'alone',
      work: was?.work ? (parseJson(was.work) as Work) : undefined,
    }
  }

  /** Takes a lookup that was left. Throws LookupGone where it was not left any more. */
  async #take(
    connection: Connection,
    { run, row, held, state, known_by: holder }: EqualLookup,
  ): Promise<void> {
    // Of a run that may have ended, a row keeps its unknown outcome.
    const stays = state === 'unknown' && !holder.startsWith(lookupsMark)
    if ((await connection.run(stays ? emptySql : takeSql, run, row, state)) === 0) throw new LookupGone()
    await countBudget(connection, scopesOf(run, ''), { held: -held })
  }

  /** Records that rows are sent together, under a key of their own. */
  async together(rows: readonly SentRow[]): Promise<{ readonly key: string; readonly row: RunRow }> {
    const key = await this.driver.transaction(async (connection) => {
      const made = await connection.get<{ requests: number }>(
        'UPDATE runs SET requests = requests + 1 WHERE number = ? AND fence = ? RETURNING requests',
        this.#own.number,
        this.#own.fence,
      )
      if (!made) await changeRun(connection, this.#own, 'requests = requests')
      const own = `${this.run.id}-r${made?.requests ?? 0}`
      for (const row of rows) await this.#markSent(connection, row, own)
      return own
    }, `run ${this.run.number}`)
    if (!this.options.mayRepeat) await this.driver.flush()
    return { key, row: rowOfKey(key, true) as RunRow }
  }

  /** Records that a row is sent alone, so that it is never sent together with others: that would be another key. */
  async alone(
    { ordinal, key, row, sentAs }: Ask,
    input: Input,
  ): Promise<{ readonly key: string; readonly row: RunRow | undefined }> {
    const own = this.keyOf(ordinal)
    if (sentAs === 'alone') return { key, row }
    await this.#mark([{ ordinal, input }], own)
    return { key: own, row: rowOfKey(own, row?.fresh ?? false) }
  }

  /** Records that rows were refused, so that they may be sent under any key. */
  apart(ordinals: readonly number[]): Promise<void> {
    return this.#mark(
      ordinals.map((ordinal) => ({ ordinal })),
      null,
    )
  }

  /** Records of rows that they are certainly not sent, or with what they are about to be, under the key that they have. */
  waiting(rows: readonly SentRow[]): Promise<void> {
    return this.#mark(rows)
  }

  async #mark(rows: readonly SentRow[], key?: string | null): Promise<void> {
    await this.driver.transaction(async (connection) => {
      await checkOwn(connection, this.#own)
      for (const row of rows) await this.#markSent(connection, row, key)
    }, `run ${this.run.number}`)
    if (!this.options.mayRepeat) await this.driver.flush()
  }

  async #markSent(connection: Connection, { ordinal, input }: SentRow, key?: string | null): Promise<void> {
    const sent = input === undefined ? null : toJson(input)
    const values = key === undefined ? [sent] : [sent, key]
    await send(connection, key === undefined ? sentSql : sentAsSql, ...values, this.run.number, ordinal)
  }

  keyOf(ordinal: number): string {
    return keyOf(this.run.identityKey, this.run.id, ordinal)
  }

  /** Records that the target accepted rows; from now on it is only polled. */
  async accept(
    works: readonly (readonly [ordinal: number, work: Work])[],
    payer: string | null = null,
  ): Promise<void> {
    await this.driver.transaction(async (connection) => {
      const now = this.options.now()
      await changeRun(connection, this.#own, heardAt, now, now)
      for (const [ordinal, work] of works)
        await send(
          connection,
          `UPDATE lookups SET state = 'accepted', work = ?, payer = ? WHERE run = ? AND row = ? AND state <> 'skipped'`,
          toJson(work),
          payer,
          this.run.number,
          ordinal,
        )
    }, `run ${this.run.number}`)
    if (!this.options.mayRepeat) await this.driver.flush()
  }

  /** Records answers. Of an unknown outcome the maximum stays held, unless it is unknown only what data vendors charged. */
  async settle(rows: readonly Settled[]): Promise<void> {
    if (this.options.missing) return
    const { number } = this.run
    await this.driver.transaction(async (connection) => {
      const now = this.options.now()
      const written: Value[][] = []
      const ended: Value[][] = []
      const spent = { credits: 0, calls: 0 }
      let [held, units, used] = [0, 0, 0]
      const release = (ask: Ask) => {
        held += ask.held
        units += ask.units
      }
      for (const { ordinal, hash, identity, answer, source, ask, from, isSpelling } of rows) {
        const { status, error, body, text, credits, isCut, ageMs = 0, payer = null } = answer
        const state = isUnknown(answer) ? 'unknown' : status
        if (!ask || from !== undefined) {
          // One equal row stands for all; another spelling is found by itself.
          const found = isSpelling ? (hash ?? null) : null
          const values = [number, ordinal, state, found, identity ?? null, source]
          const origin = typeof from === 'object' ? from : [number, from ?? null]
          written.push([...values, ...origin, isUnknown(answer) ? null : error, now, now])
          if (ask) release(ask)
          continue
        }
        const stays = state === 'unknown' ? 1 : 0
        const json = body === undefined ? null : (text ?? toJson(body))
        // Where data vendors lost their answers, the target has charged nothing.
        const isFree = lostIn(body).length > 0
        const left = stays && !isFree ? ask.held : 0
        ended.push([
          state,
          stays ? null : error,
          json,
          left,
          credits,
          payer,
          now - ageMs,
          source,
          number,
          ordinal,
          isCut ? 1 : 0,
          stays,
        ])
        spent.calls++
        spent.credits += credits
        if (stays && isFree) held += ask.held
        if (stays) continue
        release(ask)
        if (ask.units > 0) used += this.options.budgets.quota?.count(body) ?? 0
      }
      if (ended.length > 0) await connection.dialect.writeRows(connection, putEnded, ended)
      if (written.length > 0) await connection.dialect.writeRows(connection, putAnswered, written)
      const { done } = this
      const changing = changeRun(
        connection,
        this.#own,
        'done = CASE WHEN done > ? THEN done ELSE ? END',
        done,
        done,
      )
      if (changing) await changing
      // Other rows with this spelling find it.
      const spelled = rows.flatMap(({ hash, ordinal, isSpelling }) =>
        isSpelling && hash !== undefined ? [[hash, number, ordinal]] : [],
      )
      const stated = rows.flatMap((one) => (one.from === undefined ? this.#statedBy(one, one.answer) : []))
      // Read after the run was changed, so that whoever begins to index it sees these answers, or is seen here.
      const isIndexed = stated.length > 0 && (await readNumber(connection, isIndexedSql, number)) !== 0
      const found = isIndexed ? [...spelled, ...stated] : spelled
      if (found.length > 0) await connection.dialect.writeRows(connection, putEqual, found)
      const change = { spent: spent.credits, held: -held, units: -units, used }
      await countBudget(connection, this.#scopes, change)
      if (spent.calls > 0)
        await countSpent(connection, { ...this.run, member: this.options.member }, spent, now)
    }, `run ${number}`)
    for (const { ask } of rows) if (ask) this.#underWay -= ask.held
  }

  /** Returns what finds the answer to a lookup by name or email by the identities that it states. */
  #statedBy(
    { ordinal, identity, hash }: Pick<LookupRow, 'ordinal' | 'identity' | 'hash'>,
    { status, body, isCut }: RowAnswer,
  ): Value[][] {
    if (status !== 'found' || isCut || identity === undefined) return []
    const stated = this.options.stating?.hashesIn(identity, body) ?? none
    return stated.flatMap((one) => (one === hash ? [] : [[one, this.run.number, ordinal]]))
  }

  /** Records the answer to a single lookup, which has no budget and is counted where it is paid, and what its key is known by. */
  async keepSingle(row: LookupRow, answer: RowAnswer, key: string | null = null): Promise<void> {
    const { ordinal, hash, identity } = row
    const now = this.options.now()
    const { status, error, body, text, isCut, ageMs = 0, payer = null } = answer
    const values = [this.run.number, ordinal, status, hash ?? null, isCut ? null : (identity ?? null), key]
    const json = body === undefined ? null : (text ?? toJson(body))
    await this.driver.transaction(async (connection) => {
      await connection.dialect.writeRows(connection, putSingle, [
        [...values, payer, error, json, now, now - ageMs],
      ])
      const found = [[hash ?? null, this.run.number, ordinal], ...this.#statedBy(row, answer)]
      if (hash !== undefined) await connection.dialect.writeRows(connection, putEqual, found)
      await changeRun(connection, this.#own, `${heardAt}, done = done + 1`, now, now)
    }, `run ${this.run.number}`)
  }

  /** Records work that the target has accepted for a single lookup that was sent whatever is stored. */
  async keepAccepted(
    { ordinal, hash, identity }: LookupRow,
    work: Work,
    { key, payer }: Pick<StartedLookup, 'key' | 'payer'>,
  ): Promise<void> {
    const now = this.options.now()
    const { number } = this.run
    const values = [
      number,
      ordinal,
      'accepted',
      hash ?? null,
      identity ?? null,
      key,
      toJson(work),
      payer,
      now,
    ]
    await this.driver.transaction(async (connection) => {
      await connection.dialect.writeRows(connection, putAccepted, [values])
      const found = [[hash ?? null, number, ordinal]]
      if (hash !== undefined) await connection.dialect.writeRows(connection, putEqual, found)
      await changeRun(connection, this.#own, heardAt, now, now)
    }, `run ${number}`)
  }

  /** Leaves a single lookup of unknown outcome to whoever makes it next, under its key. */
  async release(ordinal: number): Promise<void> {
    await this.driver.transaction(
      (connection) => connection.run(releaseSql, this.run.number, ordinal),
      `run ${this.run.number}`,
    )
  }

  /** Forgets lookups that this execution has not sent, unless another one may have: then they stay for whoever asks next. */
  withdraw(asks: readonly Ask[]): Promise<void> {
    return this.forget(asks.filter(({ isNew }) => isNew))
  }

  /** Forgets lookups of which nothing is left to be known. */
  async forget(asks: readonly Ask[]): Promise<void> {
    if (asks.length === 0) return
    await this.driver.transaction(async (connection) => {
      await checkOwn(connection, this.#own)
      let [held, units] = [0, 0]
      for (const ask of asks) {
        await connection.run('DELETE FROM lookups WHERE run = ? AND row = ?', this.run.number, ask.ordinal)
        held += ask.held
        units += ask.units
      }
      await countBudget(connection, this.#scopes, { held: -held, units: -units })
    }, `run ${this.run.number}`)
  }

  get done(): number {
    return this.#done
  }

  /** Notes how many rows are in the output, or have an answer on record. */
  written(rows: number): void {
    this.#done = Math.max(this.#done, rows)
  }

  /** Resolves when all that is recorded survives a power cut. */
  flush(): Promise<void> {
    return this.driver.flush()
  }

  async end(complete: boolean, invalid: number, suspect = 0): Promise<void> {
    const { missing, others, now } = this.options
    if (missing) return
    await this.driver.transaction(async (connection) => {
      const { number } = this.run
      // It may have been redacted meanwhile.
      const found = await connection.get<{ request: string }>(
        'SELECT request FROM runs WHERE number = ?',
        number,
      )
      const record = toJson({ ...(parseJson(found?.request ?? '{}') as object), invalid })
      const status = complete || others ? 'finished' : 'stopped'
      const set = `status = ?, done = CASE WHEN done > ? THEN done ELSE ? END, ${heardAt}, request = ?`
      const at = now()
      await changeRun(connection, this.#own, set, status, this.#done, this.#done, at, at, record)
      const spender = { ...this.run, member: this.options.member }
      if (suspect > 0) await countSpent(connection, spender, { credits: 0, calls: 0, suspect }, now())
    }, `run ${this.run.number}`)
  }
}

const releaseSql = `UPDATE lookups SET state = 'unknown' WHERE run = ? AND row = ?`
const takeSql = 'DELETE FROM lookups WHERE run = ? AND row = ? AND state = ?'
const emptySql = `UPDATE lookups SET key = NULL, input = NULL, held = 0
  WHERE run = ? AND row = ? AND state = ? AND input IS NOT NULL`

/** Thrown where a lookup was read as left, and was answered or sent again before it could be taken. */
class LookupGone extends Error {}

const originOf = ({
  run,
  row,
  from_run,
  from_row,
}: Pick<StoredLookup, 'run' | 'row' | 'from_run' | 'from_row'>): Origin => [from_run ?? run, from_row ?? row]

/** Returns the lower `limit` that a row was sent with because a budget left too little. */
const reducedLimitOf = (sent: Input, { input, perRecord }: LookupRow): number | undefined =>
  perRecord !== undefined && sent.limit !== input.limit ? Number(sent.limit) : undefined

/** Returns bodies by their origins. */
async function bodiesOf(
  connection: Connection,
  origins: readonly Origin[],
): Promise<ReadonlyMap<string, string | null>> {
  if (origins.length === 0) return new Map()
  const wanted = [...new Map(origins.map((origin) => [String(origin), origin])).values()]
  const found = await connection.all<Pick<StoredLookup, 'run' | 'row' | 'body'>>(
    bodiesSql,
    JSON.stringify(wanted),
  )
  return new Map(found.map(({ run, row, body }) => [String([run, row]), body]))
}

/** Returns what sending a lookup again adds to what is held and certainly not spent. */
const needOf = ({ state, held }: StoredLookup): number => (state === 'asked' ? held : 0)

function needsOf(own: Iterable<StoredLookup>): Map<string | null, number> {
  const needs = new Map<string | null, number>()
  for (const kept of own)
    if (isTogether(kept.key)) needs.set(kept.key, (needs.get(kept.key) ?? 0) + needOf(kept))
  return needs
}

const isHiddenLookup = ({ state, error }: EqualLookup): boolean =>
  state === 'not_found' && isHidden({ status: state, error })

/** Whether another run has it under way, or left it: a killed one did not hear of it, or any one not of its outcome. */
const isLeft = (one: EqualLookup): boolean => isOpen(one) || (one.state === 'unknown' && one.input !== null)

const isOpen = ({ state }: Pick<StoredLookup, 'state'>): boolean => state === 'asked' || state === 'accepted'

const heldSql = 'UPDATE lookups SET held = ? WHERE run = ? AND row = ?'
const lostSql = `UPDATE lookups SET state = 'unknown', error = NULL WHERE run = ? AND row = ?`
// Those that were forgotten under way are not sent again either.
const unknownSql = `SELECT coalesce(sum(held), 0) AS held FROM lookups WHERE run = ? AND state IN ('unknown', 'skipped')`
const sentSql = `UPDATE lookups SET input = ? WHERE run = ? AND row = ? AND state = 'asked'`
const sentAsSql = `UPDATE lookups SET input = ?, key = ? WHERE run = ? AND row = ? AND state = 'asked'`

const fixedOutcome = (fixed: Pick<RowAnswer, 'status' | 'error'>): RowOutcome => ({
  answer: { ...fixed, body: undefined, credits: 0 },
  source: null,
  credits: 0,
})

function answerOf({
  state,
  error,
  body,
  cost,
}: Pick<StoredLookup, 'state' | 'error' | 'body' | 'cost'>): RowAnswer {
  const parsed = body === null ? undefined : parseExact(body)
  if (state === 'unknown') return { ...unknownAnswer, body: parsed }
  return { status: state as RowStatus, error, body: parsed, credits: cost }
}

interface IdentifiedAnswer {
  readonly row: number
  readonly identity: string
  readonly state: RowStatus
  readonly body: string | null
}

const identifiedSql = `SELECT l.row, l.identity, l.state, coalesce(l.body, o.body) AS body
  FROM lookups l LEFT JOIN lookups o ON o.run = l.from_run AND o.row = l.from_row
  WHERE l.run = ? AND l.row >= ? AND l.identity IS NOT NULL AND l.state IN ('found', 'not_found') ORDER BY l.row LIMIT ?`
const atOnce = 256

const failedSql = `SELECT row FROM lookups WHERE run = ? AND state IN ('failed', 'unknown')`

/** Returns the rows of a run whose lookups failed, or have an unknown outcome. */
export const failedRowsOf = async (driver: Driver, run: number): Promise<readonly number[]> =>
  (await driver.read((reads) => reads.all<{ row: number }>(failedSql, run))).map(({ row }) => row)

/** Yields the answers of a run that may serve other rows. */
export async function* identifiedOf(driver: Driver, run: number) {
  const read = (last?: IdentifiedAnswer) =>
    driver.read((reads) => reads.all<IdentifiedAnswer>(identifiedSql, run, last ? last.row + 1 : 0, atOnce))
  for await (const answers of portionsOf(atOnce, read)) yield* answers
}

/** SQL for whether a lookup found nothing, and a data vendor was not asked. */
export const isLeftOut = `state = 'not_found' AND error LIKE 'Not asked: %'`
const leftOutSql = `SELECT row, error FROM lookups WHERE run = ? AND ${isLeftOut}`

/** Returns the rows of a run that nobody found, and about which one of some data vendors could not be asked. */
export const leftOutRowsOf = async (
  driver: Driver,
  run: number,
  vendors: ReadonlySet<string>,
): Promise<readonly number[]> =>
  (await driver.read((reads) => reads.all<{ row: number; error: string }>(leftOutSql, run)))
    .filter(({ error }) => askedLaterIn(error).some((name) => vendors.has(name)))
    .map(({ row }) => row)
