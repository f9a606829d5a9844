import { type Connection, readNumber, send } from '../storage/driver/connection.js'
import type { BudgetShortage } from './answer.js'

/** Maximum credits to spend. */
export interface Budgets {
  /** By a run, over all its parts. */
  readonly perRun?: number | undefined
  /** By a profile in a day (UTC, real time), over all processes. */
  readonly perDay?: number | undefined
  /** By several runs together, over all their parts. */
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

/** Returns the day (UTC) that spending at a time is counted for. */
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

export const dayScope = (profile: string, day: string): string => `day ${profile} ${day}`

const addSql = `INSERT INTO budgets (scope, spent, held) VALUES (?, ?, ?)
  ON CONFLICT (scope) DO UPDATE SET spent = budgets.spent + excluded.spent, held = budgets.held + excluded.held`
// The clock may have gone back: what was spent on days to come is spent today.
const daySql = 'SELECT coalesce(sum(spent + held), 0) AS used FROM budgets WHERE scope >= ? AND scope < ?'
const runsSql = `SELECT coalesce(sum(spent + held), 0) AS used FROM budgets WHERE scope IN (SELECT value FROM json_each(?))`
const heldSql = 'SELECT held FROM budgets WHERE scope = ?'

export const usedToday = (connection: Connection, profile: string, day: string): Promise<number> =>
  readNumber(connection, daySql, dayScope(profile, day), dayScope(profile, '9999'))

const usedBy = (connection: Connection, scopes: readonly string[]): Promise<number> =>
  readNumber(connection, runsSql, JSON.stringify(scopes))

/** Reads what the budgets leave. */
export async function budgetOver(
  connection: Connection,
  number: number,
  scopes: Scopes,
  { perRun, perDay, sharedBudget, quota }: Budgets,
  now: number,
) {
  const none = Number.POSITIVE_INFINITY
  const isLimited = perRun !== undefined || perDay !== undefined || sharedBudget !== undefined
  const ofRun = perRun === undefined ? none : perRun - (await usedBy(connection, [scopes.run]))
  const ofDay =
    perDay === undefined ? none : perDay - (await usedToday(connection, scopes.profile, dayOf(now)))
  const runs = sharedBudget?.runs.map((run) => `run ${run}`) ?? [`run ${number}`]
  const ofAll = sharedBudget ? sharedBudget.credits - (await usedBy(connection, runs)) : none
  const left = Math.min(ofRun, ofDay, ofAll)
  const shortage: BudgetShortage =
    left === ofAll && sharedBudget
      ? { budget: 'flow', credits: sharedBudget.credits }
      : left === ofRun
        ? { budget: 'run', credits: perRun ?? 0 }
        : { budget: 'day', credits: perDay ?? 0 }
  return {
    isLimited,
    /** Below 0 when what is spent and set aside exceeds a lowered budget. */
    left,
    /** What is set aside for rows of this run. */
    held: isLimited ? await readNumber(connection, heldSql, scopes.run) : 0,
    shortage,
    unitsLeft: quota ? quota.most - (await usedBy(connection, [scopes.profiles])) : none,
    shortageOfUnits: { budget: 'profiles', credits: quota?.most ?? 0 } as BudgetShortage,
  }
}

export interface BudgetChange {
  readonly spent?: number
  readonly held?: number
  readonly units?: number
  readonly used?: number
  readonly isDayOnly?: boolean
}

/** Counts what is set aside, released or spent in all scopes of a run: before a call its maximum (decision 8). */
export async function countBudget(
  connection: Connection,
  { run, profiles, profile }: Scopes,
  day: string,
  { spent = 0, held = 0, units = 0, used = 0, isDayOnly = false }: BudgetChange,
): Promise<void> {
  if (spent !== 0 || held !== 0) {
    if (!isDayOnly) await send(connection, addSql, run, spent, held)
    await send(connection, addSql, dayScope(profile, day), spent, held)
  }
  if (units !== 0 || used !== 0) await send(connection, addSql, profiles, used, units)
}

/** Ends an INSERT of spending that adds to what is recorded. */
export const addSpending = `ON CONFLICT (day, profile, target, operation, run, member)
  DO UPDATE SET credits = spending.credits + excluded.credits, calls = spending.calls + excluded.calls,
    doubted = spending.doubted + excluded.doubted`
const addSpendingSql = `INSERT INTO spending (day, profile, target, operation, run, member, credits, calls, doubted)
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
  readonly doubted?: number
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
