import { dayMs, isoDay } from '../api/values/dates.js'
import { type Connection, readNumber, send } from '../storage/driver/connection.js'
import type { BudgetShortage } from './answer.js'

/** Maximum credits to spend. */
export interface Budgets {
  /** By a run, however often it is resumed. */
  readonly perRun?: number | undefined
  /** By a profile in a day (UTC, real time), over all processes. */
  readonly perDay?: number | undefined
  /** By several runs together, however often they are resumed. */
  readonly sharedBudget?: { readonly credits: number; readonly runs: readonly number[] } | undefined
  /** How much of a quota the run may use, and how much an answer has used. */
  readonly quota?: { readonly most: number; readonly count: (body: unknown) => number } | undefined
}

/** What lookups of a run count in, beside the day of its profile. */
export interface Scopes {
  readonly run: string
  readonly profiles: string
  readonly profile: string
}

const runBudget = (run: number): string => `run ${run}`

export const scopesOf = (run: number, profile: string): Scopes => ({
  run: runBudget(run),
  profiles: `profiles ${run}`,
  profile,
})

const startOfDay = (now: number): number => Date.parse(isoDay(now))

const dayScope = (profile: string, day: string): string => `day ${profile} ${day}`
/** All days of a profile are between these two. */
const [firstDay, lastDay] = ['', '9999']

const addSql = `INSERT INTO budgets (scope, spent, held) VALUES (?, ?, ?)
  ON CONFLICT (scope) DO UPDATE SET spent = budgets.spent + excluded.spent, held = budgets.held + excluded.held`
const changeSql = 'UPDATE budgets SET spent = spent + ?, held = held + ? WHERE scope = ?'
// The clock may have gone back: what was spent on days to come is spent today. What runs hold counts today while they
// are under way, whenever that was, since it is spent when it is answered; of others, it counts for their last day. It is one
// statement, since what is held may be spent between two.
const daySql = `SELECT
  (SELECT coalesce(sum(spent + held), 0) FROM budgets WHERE scope >= ? AND scope < ?) +
  (SELECT coalesce(sum(b.held), 0) FROM budgets b CROSS JOIN runs r ON r.number = CAST(substr(b.scope, 5) AS BIGINT)
   WHERE b.scope >= 'run ' AND b.scope < 'run!' AND b.held > 0 AND r.profile = ?
   AND (r.status = 'running' OR r.ended_at >= ?)) AS used`
const runsSql = `SELECT coalesce(sum(spent + held), 0) AS used FROM budgets WHERE scope IN (SELECT value FROM json_each(?))`
const ownSql = 'SELECT spent, held FROM budgets WHERE scope = ?'

export const usedToday = (connection: Connection, profile: string, now: number): Promise<number> =>
  readNumber(
    connection,
    daySql,
    dayScope(profile, isoDay(now)),
    dayScope(profile, lastDay),
    profile,
    startOfDay(now),
  )

const latestSql = 'SELECT max(scope) AS scope FROM budgets WHERE scope >= ? AND scope < ?'

const aheadSql = `${latestSql} AND spent + held > 0`

/** Returns the last day to come on which a profile has spent, when the clock was ahead: it counts until then. */
export async function spentUntil(
  connection: Connection,
  profile: string,
  now: number,
): Promise<string | undefined> {
  const [from, to] = [dayScope(profile, isoDay(now + dayMs)), dayScope(profile, lastDay)]
  const found = await connection.get<{ scope: string | null }>(aheadSql, from, to)
  const day = isoDay(now).length
  return found?.scope?.slice(from.length - day, from.length)
}

/**
 * Returns the day that a profile spends on: days only go forward, so that a clock that goes back moves nothing to a day of
 * which more may be spent.
 */
async function spendingDay(connection: Connection, profile: string, now: number): Promise<string> {
  const [from, to] = [dayScope(profile, firstDay), dayScope(profile, lastDay)]
  const latest = await connection.get<{ scope: string | null }>(latestSql, from, to)
  const day = latest?.scope?.slice(from.length, from.length + isoDay(now).length) ?? ''
  return day > isoDay(now) ? day : isoDay(now)
}

const lockSql = `INSERT INTO budgets (scope, spent, held) VALUES (?, 0, 0)
  ON CONFLICT (scope) DO UPDATE SET held = budgets.held`

/**
 * Locks the days of a profile until the transaction ends: its runs may be of several workspaces, which do not wait for each
 * other, and no two may hold the same credits.
 */
export const lockDays = async (connection: Connection, profile: string): Promise<void> =>
  void (await connection.run(lockSql, daysOf(profile)))

/** The days of a profile as one scope. */
export const daysOf = (profile: string): string => `days of ${profile}`

const usedBy = (connection: Connection, scopes: readonly string[]): Promise<number> =>
  readNumber(connection, runsSql, JSON.stringify(scopes))

/** Reads what runs have spent, and hold. */
export const usedByRuns = (connection: Connection, runs: readonly number[]): Promise<number> =>
  usedBy(connection, runs.map(runBudget))

/** Reads what the budgets leave. */
export async function budgetOver(
  connection: Connection,
  scopes: Scopes,
  { perRun, perDay, sharedBudget, quota }: Budgets,
  now: number,
) {
  const none = Number.POSITIVE_INFINITY
  const isLimited = perRun !== undefined || perDay !== undefined || sharedBudget !== undefined
  const own = isLimited
    ? await connection.get<{ spent: number; held: number }>(ownSql, scopes.run)
    : undefined
  const { spent, held } = own ?? { spent: 0, held: 0 }
  const ofRun = perRun === undefined ? none : perRun - spent - held
  const ofDay = perDay === undefined ? none : perDay - (await usedToday(connection, scopes.profile, now))
  const ofAll = sharedBudget ? sharedBudget.credits - (await usedByRuns(connection, sharedBudget.runs)) : none
  const ahead = perDay === undefined ? undefined : await spentUntil(connection, scopes.profile, now)
  const left = Math.min(ofRun, ofDay, ofAll)
  const shortage: BudgetShortage =
    left === ofAll && sharedBudget
      ? { budget: 'flow', credits: sharedBudget.credits }
      : left === ofRun
        ? { budget: 'run', credits: perRun ?? 0 }
        : { budget: 'day', credits: perDay ?? 0, ...(ahead === undefined ? {} : { until: ahead }) }
  return {
    isLimited,
    /** Below 0 when what is spent and held exceeds a reduced budget. */
    left,
    /** What is held for rows of this run. */
    held,
    shortage,
    unitsLeft: quota ? quota.most - (await usedBy(connection, [scopes.profiles])) : none,
    shortageOfUnits: { budget: 'profiles', credits: quota?.most ?? 0 } as BudgetShortage,
  }
}

interface BudgetChange {
  readonly spent?: number
  readonly held?: number
  readonly units?: number
  readonly used?: number
}

/** Holds credits for a run, before it sends anything: its day has begun then. */
export async function holdBudget(
  connection: Connection,
  { profile, ...scopes }: Scopes,
  change: Required<Pick<BudgetChange, 'held' | 'units'>>,
  now: number,
): Promise<void> {
  await countBudget(connection, scopes, change)
  if (change.held > 0) await countDay(connection, profile, await spendingDay(connection, profile, now), 0)
}

/** Holds credits for a single call, under its id. */
export async function holdCall(
  connection: Connection,
  { id, profile, credits }: { readonly id: string; readonly profile: string; readonly credits: number },
  now: number,
): Promise<void> {
  const day = dayScope(profile, await spendingDay(connection, profile, now))
  await connection.run('INSERT INTO budgets (scope, spent, held) VALUES (?, 0, ?)', `${day} ${id}`, credits)
}

const releaseSql =
  'DELETE FROM budgets WHERE scope >= ? AND scope < ? AND substr(scope, length(scope) - ?) = ?'

/** Releases the credits of a single call, on whichever day they were held; its day stays. */
export async function releaseCall(
  connection: Connection,
  { id, profile }: { readonly id: string; readonly profile: string },
  now: number,
): Promise<void> {
  await countDay(connection, profile, await spendingDay(connection, profile, now), 0)
  const range = [dayScope(profile, firstDay), dayScope(profile, lastDay)]
  await connection.run(releaseSql, ...range, id.length, ` ${id}`)
}

/** Counts what is held, released or spent by a run: before a call its maximum (decision 8). */
export async function countBudget(
  connection: Connection,
  { run, profiles }: Pick<Scopes, 'run' | 'profiles'>,
  { spent = 0, held = 0, units = 0, used = 0 }: BudgetChange,
): Promise<void> {
  if (spent !== 0 || held !== 0) await change(connection, run, spent, held)
  if (units !== 0 || used !== 0) await change(connection, profiles, used, units)
}

/** The table refuses to insert less than nothing, even where it would only be added. */
const change = (connection: Connection, scope: string, spent: number, held: number) =>
  held < 0 ? send(connection, changeSql, spent, held, scope) : send(connection, addSql, scope, spent, held)

/** Counts what was spent, or may have been, in the budget of a day. */
export const countDay = async (
  connection: Connection,
  profile: string,
  day: string,
  spent: number,
): Promise<void> => void (await send(connection, addSql, dayScope(profile, day), spent, 0))

/** Ends an INSERT of spending that adds to what is recorded. */
export const addSpending = `ON CONFLICT (day, profile, target, operation, run, member)
  DO UPDATE SET credits = spending.credits + excluded.credits, calls = spending.calls + excluded.calls,
    suspect = spending.suspect + excluded.suspect`
const addSpendingSql = `INSERT INTO spending (day, profile, target, operation, run, member, credits, calls, suspect)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ${addSpending}`

/** Who spent credits, and on what. Single calls have the run number 0. */
export interface Spender {
  readonly number: number
  readonly profile: string
  readonly target: string
  readonly operation: string
  /** Email of the member who pays; `undefined` where that is not known. */
  readonly member?: string | undefined
}

export interface SpentCalls {
  readonly credits: number
  readonly calls: number
  readonly suspect?: number
}

/** Records the credits spent by calls, also in the budget of the day, or that their answers are suspect. */
export async function countSpent(
  connection: Connection,
  { number, profile, target, operation, member = '' }: Spender,
  { credits, calls, suspect = 0 }: SpentCalls,
  now: number,
): Promise<void> {
  const day = await spendingDay(connection, profile, now)
  const values = [day, profile, target, operation, number, member, credits, calls, suspect]
  await connection.run(addSpendingSql, ...values)
  if (credits !== 0) await countDay(connection, profile, day, credits)
}
