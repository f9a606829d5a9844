import type { Connection } from '../../driver/connection.js'
import { RunLost } from './run-leases.js'

/** A run that is written to, and what the lock it is held by is known by. */
export interface OwnedRun {
  readonly number: number
  /** Empty where the system's locks keep others away. */
  readonly fence: string
}

/** Rows that are about to be sent, and how far the run is. */
export interface PlanEntry {
  readonly credits: number
  readonly done: number
  readonly now: number
  readonly sentFrom: number
  readonly sentTo: number
  readonly lowered: { readonly row: number; readonly limit: number } | undefined
}

/** What answers change. */
export interface AnswersEntry {
  readonly credits: number
  readonly released: number
  readonly unknown: number
  readonly done: number
}

/** How a part of a run ends. */
export interface EndEntry {
  readonly status: 'finished' | 'stopped'
  readonly done: number
  readonly now: number
  readonly sent: { readonly from: number; readonly to: number }
  /** Whether nothing is under way any more. */
  readonly isSettled: boolean
  readonly released: number
}

// What is given back is never more than there is.
const released = 'reserved = CASE WHEN reserved > ? THEN reserved - ? ELSE 0 END'
const own = 'WHERE number = ? AND fence = ?'
const planSql = `UPDATE runs SET reserved = reserved + ?, done = ?, ended_at = ?, sent_from = ?, sent_to = ?,
  lowered_row = coalesce(?, lowered_row), lowered_limit = coalesce(?, lowered_limit) ${own}`
const keepSql = `UPDATE runs SET credits = credits + ?, ${released}, unknown = unknown + ?, done = ? ${own}`
const endSql = `UPDATE runs SET status = ?, done = ?, ended_at = ?, sent_from = ?, sent_to = ?, indexed = 1,
  reserved = CASE WHEN ? = 1
    THEN unknown + (SELECT coalesce(sum(b.reserved), 0) FROM bulks AS b WHERE b.run = runs.number)
    WHEN reserved > ? THEN reserved - ? ELSE 0 END ${own}`
const reserveSql = `UPDATE runs SET reserved = reserved + ?, ended_at = ? ${own}`
const releaseSql = `UPDATE runs SET ${released} ${own}`
const ownSql = `SELECT 1 AS one FROM runs ${own}`

type Changes = number | Promise<number>

/** Whether the run was still ours: a row is changed only under the lock that it carries. */
function requireOwned(changes: Changes): void | Promise<void> {
  if (changes instanceof Promise) return changes.then(requireOwned)
  if (changes === 0) throw new RunLost()
}

/** Puts rows on record as under way. */
export const recordPlan = (c: Connection, { number, fence }: OwnedRun, entered: PlanEntry) => {
  const { credits, done, now, sentFrom, sentTo, lowered } = entered
  const values = [credits, done, now, sentFrom, sentTo, lowered?.row ?? null, lowered?.limit ?? null]
  return requireOwned(c.run(planSql, ...values, number, fence))
}

/** Puts on record what answers change. */
export const recordAnswers = (c: Connection, { number, fence }: OwnedRun, settled: AnswersEntry) => {
  const { credits, released: back, unknown, done } = settled
  return requireOwned(c.run(keepSql, credits, back, back, unknown, done, number, fence))
}

/** Puts the end of a part on record. */
export const recordEnd = (c: Connection, { number, fence }: OwnedRun, ended: EndEntry) => {
  const { status, done, now, sent, isSettled, released: back } = ended
  return requireOwned(
    c.run(endSql, status, done, now, sent.from, sent.to, isSettled ? 1 : 0, back, back, number, fence),
  )
}

/** Sets credits aside for a request. */
export const reserve = (c: Connection, { number, fence }: OwnedRun, credits: number, now: number) =>
  requireOwned(c.run(reserveSql, credits, now, number, fence))

/** Gives back what was set aside for a request. */
export const release = (c: Connection, { number, fence }: OwnedRun, credits: number) =>
  requireOwned(c.run(releaseSql, credits, credits, number, fence))

/** Throws where the run is no longer ours; a lock is taken only while nobody writes. */
export async function checkOwn(c: Connection, { number, fence }: OwnedRun): Promise<void> {
  if (fence !== '' && !(await c.get(ownSql, number, fence))) throw new RunLost()
}
