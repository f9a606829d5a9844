import type { Input } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { parseExact, parseJson, toCanonicalJson } from '../../api/values/json.js'
import { hashNumber, hashOf } from '../../csv/identity-filter.js'
import type { RowAnswer } from '../../lookups/answer.js'
import {
  countSpent,
  daysOf,
  holdCall,
  lockDays,
  releaseCall,
  type Spender,
  type SpentCalls,
  spentUntil,
  usedToday,
} from '../../lookups/budgets.js'
import { openNumbers } from '../../lookups/numbers.js'
import { identifiedOf } from '../../lookups/store.js'
import { type Connection, type Driver, joinGiven, readNumber } from '../../storage/driver/connection.js'
import { type Run, type RunIdentity, type Runs, sampleMark } from './runs.js'

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
  spent: SpentCalls & {
    /** What the cost is recorded for once, however many calls lead to it. */
    readonly once?: string | undefined
    /** What it is recorded for, whatever was recorded before. */
    readonly marks?: string | undefined
  },
  now: number,
]

/** Records what a single call cost. */
async function countCall(
  connection: Connection,
  ...[spender, { once, marks, ...spent }, now]: SpentCall
): Promise<void> {
  const record = once ?? marks
  if (record !== undefined) await forgetRecords(connection, now)
  const isFirst = record === undefined || (await isFirstRecord(connection, spender.target, record, now))
  if (isFirst || once === undefined) await countSpent(connection, { ...spender, number: 0 }, spent, now)
}

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
  readonly suspect: number
  /** Email of the member who paid; null where that is not known. */
  readonly member: string | null
  /** The data vendor that was asked, and what that cost in its own credits, which are none of ours. */
  readonly provider?: string
  readonly cost?: number
  /** What lost answers may have cost there besides. */
  readonly at_risk?: number
}

export const spentDimensions = ['run', 'day', 'operation', 'profile', 'target', 'member', 'provider'] as const

type SpentDimension = (typeof spentDimensions)[number]

/** What was spent under the same keys, such as by a member on a day. The run of single calls is null, and so is an unknown member. */
type SpentSum = Partial<{ readonly [name in SpentDimension]: Spent[name] | null }> &
  Pick<Spent, 'calls' | 'credits' | 'suspect' | 'cost' | 'at_risk'>

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
      const at_risk = group.reduce((sum, one) => sum + (one.at_risk ?? 0), 0)
      const own = by.includes('provider') && first.provider !== undefined ? { cost, at_risk } : {}
      return [{ place: placesOf(first), sum: { ...keys, ...totalSpent(group), ...own } }]
    })
    .sort((one, other) => compare(one.place, other.place))
    .map(({ sum }) => sum)
}

export const totalSpent = (spent: readonly Pick<Spent, 'calls' | 'credits' | 'suspect'>[]) => {
  const total = { calls: 0, credits: 0, suspect: 0 }
  for (const { calls, credits, suspect } of spent) {
    total.calls += calls
    total.credits += credits
    total.suspect += suspect
  }
  return total
}

/** Selects spending; without a field it selects all. Days are inclusive. */
export interface SpentFilter {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly profile?: string | undefined
  readonly target?: string | undefined
}

const listSql = `
SELECT s.day, s.profile, s.target, s.operation, r.id AS run, s.calls, s.credits, s.suspect,
  nullif(s.member, '') AS member
FROM (SELECT * FROM spending WHERE calls > 0 OR suspect > 0) s LEFT JOIN runs r ON r.number = s.run`

export type Spending = ReturnType<typeof spendingOver>

export function spendingOver(driver: Driver) {
  return {
    count: (...[spender, spent, now]: SpentCall) =>
      driver.transaction((c) => countCall(c, spender, spent, now), 'single calls'),
    /** Holds for a single call what `decide` returns for the rest of the day's budget. No credits are `undefined`. */
    hold: (
      { id, profile, perDay }: { readonly id: string; readonly profile: string; readonly perDay: number },
      decide: (left: number) => number | undefined,
      now: number,
    ) =>
      driver.transaction(async (c) => {
        await lockDays(c, profile)
        const left = Math.max(0, perDay - (await usedToday(c, profile, now)))
        const credits = decide(left)
        // What a killed call holds counts for its day.
        if (credits !== undefined) await holdCall(c, { id, profile, credits }, now)
        return { left, credits, until: credits === undefined ? await spentUntil(c, profile, now) : undefined }
      }, daysOf(profile)),
    /** Releases credits that were held, and records what the call has cost. */
    settle: (id: string, ...[spender, spent, now]: SpentCall) =>
      driver.transaction(async (c) => {
        await releaseCall(c, { id, profile: spender.profile }, now)
        if (spent.credits > 0) await countCall(c, spender, spent, now)
      }, daysOf(spender.profile)),
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
      const sql = `SELECT coalesce(sum(b.held), 0) AS credits FROM runs JOIN budgets b ON b.scope = 'run ' || number
        WHERE forgotten = 0${where}`
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
WHERE s.operation = ? AND s.target = ? GROUP BY r.number HAVING sum(s.calls) > 0 ORDER BY r.number DESC`

/** Returns what runs of an operation have cost on a target, those that began last first. */
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
    for await (const { identity, state: status, body } of identifiedOf(database, run.number))
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
