import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { parseExact, parseJson, toCanonicalJson } from '../../api/values/json.js'
import { hashNumber, hashOf } from '../../csv/identity-filter.js'
import { type Connection, type Driver, joinGiven, readNumber } from '../../storage/driver/connection.js'
import { identifiedOf, openNumbers } from './answers.js'
import type { Budget, BudgetLeft } from './budget.js'
import type { BudgetShortage, RowAnswer } from './journal.js'
import { addSpending, type Run, type RunIdentity, type Runs, runScope, sampleMark } from './runs.js'

/**
 * Returns the scope in which the rows of a run are written. Transactions of different runs do not wait for each other,
 * unless their profile has a budget for the day: then each must see what the one before it set aside.
 */
export function scopeOf(
  { number, profile }: Pick<Run, 'number' | 'profile'>,
  { perDay, sharedBudget }: Budget,
): string {
  if (perDay !== undefined) return `day ${profile}`
  return runScope(sharedBudget?.runs[0] ?? number)
}

/** Returns the day (UTC) that spending at a time is counted for. */
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

export const startOfDay = (now: number): number => Date.parse(dayOf(now))

export async function budgetLeft(
  connection: Connection,
  { number, profile }: Pick<Run, 'number' | 'profile'>,
  { perRun, perDay, sharedBudget }: Budget,
  now: number,
): Promise<BudgetLeft> {
  const run = await connection.get<Pick<Run, 'credits' | 'reserved'> & Pick<BudgetLeft, 'unknown'>>(
    'SELECT credits, reserved, unknown FROM runs WHERE number = ?',
    number,
  )
  const { credits = 0, reserved = 0, unknown = 0 } = run ?? {}
  const ofRun = perRun === undefined ? Number.POSITIVE_INFINITY : perRun - credits - reserved
  const spent = perDay === undefined ? 0 : await spentToday(connection, { number, profile }, now)
  const ofDay = perDay === undefined ? Number.POSITIVE_INFINITY : perDay - spent - reserved
  const ofAll = sharedBudget
    ? sharedBudget.credits - (await usedBy(connection, sharedBudget.runs))
    : Number.POSITIVE_INFINITY
  const left = Math.min(ofRun, ofDay, ofAll)
  const shortage: BudgetShortage =
    left === ofAll && sharedBudget
      ? { budget: 'flow', credits: sharedBudget.credits }
      : left === ofRun
        ? { budget: 'run', credits: perRun ?? 0 }
        : { budget: 'day', credits: perDay ?? 0 }
  return { credits: left, reserved, unknown, shortage }
}

const usedBy = (connection: Connection, runs: readonly number[]): Promise<number> =>
  readNumber(
    connection,
    `SELECT coalesce(sum(credits + reserved), 0) AS credits FROM runs WHERE number IN (${runs.map(() => '?').join(', ')})`,
    ...runs,
  )

const addSpendingSql = `INSERT INTO spending (day, profile, target, operation, run, member, credits, calls, doubted)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ${addSpending}`

/** Counts what was spent on days to come as spent today: the clock went back, and the day of then begins now. */
export async function settleDays(connection: Connection, profile: string, now: number): Promise<void> {
  const today = dayOf(now)
  const isLater = 'profile = ? AND day > ?'
  const later = await connection.get(`SELECT 1 AS one FROM spending WHERE ${isLater} LIMIT 1`, profile, today)
  if (later === undefined) return
  const sql = `INSERT INTO spending (day, profile, target, operation, run, member, credits, calls, doubted)
    SELECT ?, profile, target, operation, run, member, sum(credits), sum(calls), sum(doubted)
    FROM spending WHERE ${isLater}
    GROUP BY profile, target, operation, run, member ${addSpending}`
  await connection.run(sql, today, profile, today)
  await connection.run(`DELETE FROM spending WHERE ${isLater}`, profile, today)
}

// One statement, since credits that another run has set aside may be spent between two.
const spentTodaySql = `SELECT
  (SELECT coalesce(sum(credits), 0) FROM spending WHERE profile = ? AND day >= ?) +
  (SELECT coalesce(sum(reserved), 0) FROM runs
   WHERE profile = ? AND number <> ? AND reserved > 0 AND (status = 'running' OR ended_at >= ?)) AS credits`

/** Returns the credits that a profile has spent today, plus those set aside for rows of its other runs. */
async function spentToday(
  connection: Connection,
  { number, profile }: Pick<Run, 'number' | 'profile'>,
  now: number,
): Promise<number> {
  const days = [profile, dayOf(now), profile, number, startOfDay(now)]
  return await readNumber(connection, spentTodaySql, ...days)
}

/** Who spent credits, and on what. Single calls have the run number 0. */
export interface Spender extends Pick<Run, 'number' | 'profile' | 'target' | 'operation'> {
  /** Email of the member who pays; `undefined` where that is not known. */
  readonly member?: string | undefined
}

interface SpentCalls {
  readonly credits: number
  readonly calls: number
  readonly doubted?: number
}

/** How long a result is remembered: longer than clients ask for one. */
export const rememberedMs = 90 * 86_400_000

/** Forgets whose cost was recorded long ago. */
export const forgetRecords = (c: Connection, now: number) =>
  c.run('DELETE FROM passed_records WHERE counted_at < ?', now - rememberedMs)

const addRecordSql =
  'INSERT INTO passed_records (target, record, counted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'

/** Whether the cost of something at a target is recorded for the first time. */
export const isFirstRecord = async (c: Connection, target: string, record: string, now: number) =>
  (await c.run(addRecordSql, target, record, now)) === 1

type SpentCall = [
  spender: Omit<Spender, 'number'>,
  spent: SpentCalls & { readonly work?: string | undefined },
  now: number,
]

/** Records what a single call cost; that of accepted work once, however many calls lead to it. */
async function countCall(
  connection: Connection,
  ...[spender, { work, ...spent }, now]: SpentCall
): Promise<void> {
  if (work !== undefined) await forgetRecords(connection, now)
  if (work === undefined || (await isFirstRecord(connection, spender.target, work, now)))
    await countSpent(connection, { ...spender, number: 0 }, spent, now)
}

/** Records the credits spent by calls, or that their answers are doubted. */
export async function countSpent(
  connection: Connection,
  { number, profile, target, operation, member = '' }: Spender,
  { credits, calls, doubted = 0 }: SpentCalls,
  now: number,
): Promise<void> {
  const values = [dayOf(now), profile, target, operation, number, member, credits, calls, doubted]
  await connection.run(addSpendingSql, ...values)
}

/** Credits that are set aside for a single call are a row of this target without calls. Its operation is their id. */
const heldTarget = ''

/** Spending of a day (UTC, real time) by the calls of a run, or by single calls. */
export interface Spent {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly profile: string
  readonly target: string
  readonly operation: string
  /** Id of the run; null for single calls. */
  readonly run: string | null
  readonly calls: number
  readonly credits: number
  /** Answers that were passed on and may be those to other requests. */
  readonly doubted: number
  /** Email of the member who paid; null where that is not known. */
  readonly member: string | null
  /** The data vendor that was asked, and what that cost in its own credits, which are none of ours. */
  readonly provider?: string
  readonly cost?: number
}

export const spentDimensions = ['run', 'day', 'operation', 'profile', 'target', 'member', 'provider'] as const

type SpentDimension = (typeof spentDimensions)[number]

/** What was spent under the same keys, such as by a member on a day. The run of single calls is null, and so is an unknown member. */
type SpentSum = Partial<{ readonly [name in SpentDimension]: Spent[name] | null }> &
  Pick<Spent, 'calls' | 'credits' | 'doubted' | 'cost'>

/** Returns sums of spending. They are ordered by each dimension in turn, its keys in the order in which they first occur. */
export function sumSpent(spent: readonly Spent[], by: readonly SpentDimension[]): readonly SpentSum[] {
  const places = by.map(
    (name) => new Map([...new Set(spent.map((one) => one[name]))].map((key, at) => [key, at])),
  )
  const groups = Map.groupBy(spent, (one) => JSON.stringify(by.map((name) => one[name])))
  const placesOf = (one: Spent) => by.map((name, at) => places[at]?.get(one[name]) ?? 0)
  const compare = (some: readonly number[], others: readonly number[]) =>
    some.map((place, at) => place - (others[at] ?? 0)).find((difference) => difference !== 0) ?? 0
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group
      if (!first) return []
      const keys = Object.fromEntries(by.map((name) => [name, first[name] ?? null]))
      const cost = group.reduce((sum, one) => sum + (one.cost ?? 0), 0)
      const own = by.includes('provider') && first.provider !== undefined ? { cost } : {}
      return [{ place: placesOf(first), sum: { ...keys, ...totalSpent(group), ...own } }]
    })
    .sort((one, other) => compare(one.place, other.place))
    .map(({ sum }) => sum)
}

export const totalSpent = (spent: readonly Pick<Spent, 'calls' | 'credits' | 'doubted'>[]) => {
  const total = { calls: 0, credits: 0, doubted: 0 }
  for (const { calls, credits, doubted } of spent) {
    total.calls += calls
    total.credits += credits
    total.doubted += doubted
  }
  return total
}

/** Selects spending; without a field it selects all. Days are inclusive. */
interface SpentFilter {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly profile?: string | undefined
  readonly target?: string | undefined
}

const listSql = `
SELECT s.day, s.profile, s.target, s.operation, r.id AS run, s.calls, s.credits, s.doubted,
  nullif(s.member, '') AS member
FROM (SELECT * FROM spending WHERE calls > 0 OR doubted > 0) s LEFT JOIN runs r ON r.number = s.run`

export type Spending = ReturnType<typeof spendingOver>

export function spendingOver(driver: Driver) {
  return {
    count: (...[spender, spent, now]: SpentCall) =>
      driver.transaction((c) => countCall(c, spender, spent, now), 'single calls'),
    /** Sets aside for a single call what `decide` returns for the rest of the day's budget. No credits are `undefined`. */
    hold: (
      { id, profile, perDay }: { readonly id: string; readonly profile: string; readonly perDay: number },
      decide: (left: number) => number | undefined,
      now: number,
    ) =>
      driver.transaction(
        async (c) => {
          await settleDays(c, profile, now)
          const dropSql = 'DELETE FROM spending WHERE profile = ? AND day < ? AND target = ?'
          await c.run(dropSql, profile, dayOf(now), heldTarget)
          const left = Math.max(0, perDay - (await spentToday(c, { number: 0, profile }, now)))
          const credits = decide(left)
          const spender = { number: 0, profile, target: heldTarget, operation: id }
          if (credits !== undefined) await countSpent(c, spender, { credits, calls: 0 }, now)
          return { left, credits }
        },
        scopeOf({ number: 0, profile }, { perDay }),
      ),
    /** Releases credits that were set aside, and records what the call has cost. */
    settle: (id: string, ...[spender, spent, now]: SpentCall) =>
      driver.transaction(
        async (c) => {
          await c.run('DELETE FROM spending WHERE target = ? AND operation = ? AND calls = 0', heldTarget, id)
          if (spent.credits > 0) await countCall(c, spender, spent, now)
        },
        scopeOf({ number: 0, profile: spender.profile }, { perDay: 0 }),
      ),
    /** Returns spending, oldest day first. */
    list: ({ from, to, profile, target }: SpentFilter) => {
      const { where, values } = joinGiven([
        ['s.day >= ?', from],
        ['s.day <= ?', to],
        ['s.profile = ?', profile],
        ['s.target = ?', target],
      ])
      const order = 'ORDER BY s.day, s.profile, s.target, s.operation, s.run, s.member'
      return driver.read((connection) =>
        connection.all<Spent>(`${listSql} WHERE TRUE${where} ${order}`, ...values),
      )
    },
    open: ({ profile, target }: Pick<SpentFilter, 'profile' | 'target'>) => {
      const { where, values } = joinGiven([
        ['profile = ?', profile],
        ['target = ?', target],
      ])
      const sql = `SELECT coalesce(sum(reserved) FILTER (WHERE forgotten = 0), 0) AS credits FROM runs WHERE TRUE${where}`
      return driver.read((connection) => readNumber(connection, sql, ...values))
    },
  }
}

export interface RunResults {
  /** The request of the run, as JSON; `{}` when it was forgotten. */
  readonly request: string
  readonly credits: number
  readonly answers: number
}

const resultsSql = `
SELECT r.request, sum(s.credits) AS credits, sum(s.calls) AS answers
FROM spending s JOIN runs r ON r.number = s.run
WHERE s.operation = ? AND s.target = ? GROUP BY r.number`

export const resultsOfRuns = async (connection: Connection, operation: string, target: string) =>
  connection.all<RunResults>(resultsSql, operation, target)

/** How a row compares with the run that it is compared with. */
export type Novelty = 'new' | 'changed' | 'same'

/** What is compared of the requests of two runs. */
interface Compared {
  readonly constants: Input
  readonly choices: { readonly rows?: number | undefined; readonly skipKnown?: readonly string[] | undefined }
}

type Since = { readonly run: string } | { readonly ms: number }

/**
 * Returns the last finished run of the same operation, target, input path and options of the request that left out no rows,
 * or the one that `since` says; `undefined` where there is none. Throws a Refusal for an id of no such run.
 */
export async function findBaseline(
  { constants, choices }: Compared,
  { operation, target, file }: RunIdentity,
  runs: Runs,
  since: Since | undefined,
  now: number,
): Promise<Run | undefined> {
  const wanted = toCanonicalJson(constants)
  const isAlike = (run: Run) => {
    const { constants: theirs } = parseJson(run.request) as Compared
    return run.operation === operation && run.target === target && toCanonicalJson(theirs) === wanted
  }
  // The rows that it left out would be new.
  const isWhole = ({ identityKey, request }: Run) => {
    const { rows, skipKnown } = (parseJson(request) as Compared).choices
    return !identityKey.includes(sampleMark) && rows === undefined && !(skipKnown && !choices.skipKnown)
  }
  if (since && 'run' in since) {
    const found = (await runs.find(since.run)).find(({ status }) => status === 'finished')
    if (found && isAlike(found)) return found
    throw new Refusal('run.no_baseline', { run: since.run })
  }
  const before = since ? now - since.ms : Number.POSITIVE_INFINITY
  const finished = await runs.list({ status: 'finished' })
  return finished.find((run) => run.file === file && run.startedAt <= before && isAlike(run) && isWhole(run))
}

/** Reads the answers of a run into a temporary file, to compare rows with; without a run, every row is new. */
export async function openBaseline(database: Driver, run: Run | undefined) {
  const known = openNumbers()
  const hash = (text: string) => hashNumber(hashOf(text))
  const digest = (status: string, body: unknown) =>
    hash(`${status} ${body === undefined ? '' : toCanonicalJson(body)}`)
  if (run)
    for await (const { identity, status, body } of identifiedOf(database, run.number))
      known.add(hash(identity), digest(status, body === null ? undefined : parseExact(body)))
  return {
    compare(identity: string | undefined, { status, body }: Pick<RowAnswer, 'status' | 'body'>): Novelty {
      const found = identity === undefined ? undefined : known.get(hash(identity))
      if (found === undefined) return 'new'
      return found === digest(status, body) ? 'same' : 'changed'
    },
    close: known.close,
  }
}
