import type { Shortage, Wanted } from '../../../batch/journal/journal.js'
import type { Connection } from '../../driver/connection.js'
import { type Run, runScope } from './runs.js'

/** The most that may be spent. */
export interface Budget {
  /** By a run, over all its parts. */
  readonly perRun?: number | undefined
  /** By a profile in a day (UTC, real time), over all processes of this machine. */
  readonly perDay?: number | undefined
}

/** What a budget leaves. */
export interface Left {
  /** Beside what is set aside; below 0 where that, with what is paid, is more than a budget. */
  readonly credits: number
  /** Set aside for rows of this run that are under way. */
  readonly reserved: number
  /** The part of it that is for rows whose outcome is on record as unknown. */
  readonly unknown: number
  readonly shortage: Shortage
}

/**
 * What the rows of a run are written under. Those of different runs do not wait for each other, unless they share a budget
 * for the day: what one sets aside is then seen by the next. A run without one may go on beside them, since it asks nobody.
 */
export const scopeOf = ({ number, profile }: Pick<Run, 'number' | 'profile'>, { perDay }: Budget): string =>
  perDay === undefined ? runScope(number) : `day ${profile}`

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
  const run = await connection.get<Pick<Run, 'credits' | 'reserved'> & Pick<Left, 'unknown'>>(
    'SELECT credits, reserved, unknown FROM runs WHERE number = ?',
    number,
  )
  const { credits = 0, reserved = 0, unknown = 0 } = run ?? {}
  const ofRun = perRun === undefined ? Number.POSITIVE_INFINITY : perRun - credits - reserved
  const spent = perDay === undefined ? 0 : await spentToday(connection, { number, profile }, now)
  const ofDay = perDay === undefined ? Number.POSITIVE_INFINITY : perDay - spent - reserved
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
  return { credits: Math.min(ofRun, ofDay), reserved, unknown, shortage }
}

// Of one moment: what another run sets aside becomes spending in between.
const spentTodaySql = `SELECT
  (SELECT coalesce(sum(credits), 0) FROM spending WHERE profile = ? AND day = ?) +
  (SELECT coalesce(sum(reserved), 0) FROM runs
   WHERE profile = ? AND number <> ? AND reserved > 0 AND (status = 'running' OR ended_at >= ?)) AS credits`

/** Credits that a profile has spent in a day, and what its other runs have set aside for rows whose outcome is open. */
async function spentToday(
  connection: Connection,
  { number, profile }: Pick<Run, 'number' | 'profile'>,
  now: number,
): Promise<number> {
  const spent = await connection.get<{ credits: number }>(
    spentTodaySql,
    ...[profile, dayOf(now), profile, number, startOfDay(now)],
  )
  return spent?.credits ?? 0
}

/** What is set aside for a row that may be sent. */
export interface Grant {
  readonly credits: number
  /** In place of the row's own `limit`. */
  readonly limit?: number
}

/** What an earlier part of a run has set aside already. */
export interface Claims {
  /** What the rows that this part has sent can still cost, without those whose outcome is on record as unknown. */
  readonly underWay: number
  /** What sending a row adds to that; undefined where nothing is set aside for it. */
  readonly of: (row: Wanted) => number | undefined
}

/**
 * What is set aside for the first of the wanted rows, as far as it reaches. For those of an earlier part nothing more is;
 * they are sent as long as that, with what is paid and under way, stays within the budget, which may be lower now.
 */
export function grantsOf(
  wanted: readonly Wanted[],
  { credits, reserved, unknown }: Left,
  { underWay, of }: Claims,
): Grant[] {
  const grants: Grant[] = []
  let left = Math.max(0, credits)
  let room = credits + reserved - unknown - underWay
  for (const row of wanted) {
    const { most, perRecord } = row
    const claimed = of(row)
    const needed = claimed === undefined ? most : 0
    const within = claimed === undefined ? most <= left : most === 0 || claimed <= room
    if (within) {
      grants.push({ credits: needed })
      left -= needed
      room -= claimed ?? most
      continue
    }
    // The same key with another limit would be another request.
    if (claimed !== undefined) break
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
