import type { Shortage, Wanted } from '../batch/journal.js'
import type { Connection } from './driver.js'
import type { Run } from './runs.js'

/** The most that may be spent. */
export interface Budget {
  /** By a run, over all its parts. */
  readonly perRun?: number | undefined
  /** By a profile in a day (UTC, real time), over all processes of this machine. */
  readonly perDay?: number | undefined
}

/** What a budget leaves. */
export interface Left {
  readonly credits: number
  /** Set aside for rows of this run that are under way. */
  readonly reserved: number
  readonly shortage: Shortage
}

const grouped = (credits: number): string => credits.toLocaleString('en')

/** The day of a moment, as spending is counted. */
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

/** When the day of a moment began. */
export const startOfDay = (now: number): number => Date.parse(dayOf(now))

/** What the budgets leave for a run at a moment, and what to say when that is too little. */
export async function budgetLeft(
  connection: Connection,
  { number, profile }: Run,
  { perRun, perDay }: Budget,
  now: number,
): Promise<Left> {
  const run = await connection.get<Pick<Run, 'credits' | 'reserved'>>(
    'SELECT credits, reserved FROM runs WHERE number = ?',
    number,
  )
  const { credits = 0, reserved = 0 } = run ?? {}
  const ofRun = perRun === undefined ? Number.POSITIVE_INFINITY : perRun - credits - reserved
  const spent = perDay === undefined ? 0 : await spentToday(connection, profile, now)
  const ofDay = perDay === undefined ? Number.POSITIVE_INFINITY : perDay - spent
  const shortage =
    ofRun <= ofDay
      ? {
          reason: `The budget of ${grouped(perRun ?? 0)} credits for this run is reached`,
          hint: 'Raise --max-credits to go on.',
        }
      : {
          reason: `The budget of ${grouped(perDay ?? 0)} credits a day is reached`,
          hint: 'Go on tomorrow (UTC), or raise --max-credits-per-day.',
        }
  return { credits: Math.max(0, Math.min(ofRun, ofDay)), reserved, shortage }
}

/** Credits that a profile has spent in a day, and what is set aside for its rows whose outcome is open. */
async function spentToday(connection: Connection, profile: string, now: number): Promise<number> {
  const spent = await connection.get<{ credits: number }>(
    'SELECT coalesce(sum(credits), 0) AS credits FROM spending WHERE profile = ? AND day = ?',
    ...[profile, dayOf(now)],
  )
  const underWay = await connection.get<{ credits: number }>(
    `SELECT coalesce(sum(reserved), 0) AS credits FROM runs
     WHERE profile = ? AND reserved > 0 AND (status = 'running' OR ended_at >= ?)`,
    ...[profile, startOfDay(now)],
  )
  return (spent?.credits ?? 0) + (underWay?.credits ?? 0)
}

/** What is set aside for a row that may be sent. */
export interface Grant {
  readonly credits: number
  /** In place of the row's own `limit`. */
  readonly limit?: number
}

/** What is set aside for the first of the wanted rows, as far as it reaches; nothing for those that `isCovered` already. */
export function grantsOf(
  wanted: readonly Wanted[],
  { credits, reserved }: Left,
  isCovered: (ordinal: number) => boolean,
): Grant[] {
  const grants: Grant[] = []
  let left = credits
  for (const { ordinal, most, perRecord } of wanted) {
    const needed = isCovered(ordinal) ? 0 : most
    if (needed <= left) {
      grants.push({ credits: needed })
      left -= needed
      continue
    }
    // A lower limit loses records, so it waits until nothing under way could leave something of what it has set aside.
    const isLast = grants.length === 0 && reserved === 0 && perRecord !== undefined && left >= perRecord
    if (!isLast) break
    const limit = Math.floor(left / perRecord)
    return [{ credits: limit * perRecord, limit }]
  }
  return grants
}

/** What spending is counted under; single calls have the run number 0. */
export type Spender = Pick<Run, 'number' | 'profile' | 'target' | 'operation'>

/** Counts what was spent by calls. */
export async function countSpent(
  connection: Connection,
  { number, profile, target, operation }: Spender,
  { credits, calls }: { readonly credits: number; readonly calls: number },
  now: number,
): Promise<void> {
  await connection.run(
    `INSERT INTO spending (day, profile, target, operation, run, credits, calls) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (day, profile, target, operation, run)
     DO UPDATE SET credits = spending.credits + excluded.credits, calls = spending.calls + excluded.calls`,
    ...[dayOf(now), profile, target, operation, number, credits, calls],
  )
}
