import type { Input } from '../../api/calls/caller.js'
import { idempotencyTtlMs } from '../../api/operations/facts.js'
import { type Driver, toPlace } from '../../storage/driver/connection.js'
import {
  indexAnswers,
  keepAnswers,
  type LeftTurn,
  type Lookup,
  releaseHolder,
  storedAnswer,
  type TurnOptions,
  takeTurns,
} from './answers.js'
import type { RowAnswer } from './journal.js'
import { runsOver } from './runs.js'
import { dayOf } from './spending.js'

/** Begins what the hidden runs are known by that hold the answers to single lookups, one for each day. */
export const lookupsMark = 'lookups-'

/** The turn of a single lookup: the right to send it, and the key that it is sent under. */
export interface LookupTurn {
  readonly record: number
  readonly key: string
  /** What a killed run or command sent for the same lookup, under its key. */
  readonly left: LeftTurn | undefined
}

interface AskedLookup extends Lookup {
  readonly input: Input
  readonly id: string
  /** The name of the lock of this process. */
  readonly identityKey: string
}

export type LookupOptions = Omit<TurnOptions, 'takesKeys'>

export type LookupStore = ReturnType<typeof lookupsOver>

export function lookupsOver(driver: Driver) {
  const runs = runsOver(driver)
  return {
    /** Returns the newest answer to a lookup that was stored since a moment, by a single lookup or a run. */
    find: async (lookup: Lookup, since: number) => {
      await runs.indexOthers({ operation: lookup.operation, target: lookup.target })
      return driver.read((reads) => storedAnswer(reads, lookup, since))
    },
    /** Whether an equal lookup may be under way: a run of the operation is, or turns are taken or were left. */
    mayBeUnderWay: ({ operation, target }: Pick<Lookup, 'operation' | 'target'>): Promise<boolean> =>
      driver.read(async (reads) => {
        const found = await reads.get(underWaySql, operation, target, operation, target)
        return found !== undefined
      }),
    /** Takes the turn of a lookup; `undefined` while a run or another process has an equal one under way. */
    takeTurn: async (
      lookup: AskedLookup,
      options: LookupOptions,
      now: number,
    ): Promise<LookupTurn | undefined> => {
      const rows = [{ ordinal: 0, hash: lookup.hash, input: lookup.input }]
      const { record, left } = await takeTurns(driver, lookup, rows, { ...options, takesKeys: true }, now)
      return record === undefined ? undefined : { record, key: lookup.id, left: left.get(0) }
    },
    /** Marks the turns of a lock as nobody's: whoever took it now did not take them. */
    releaseTurns: (identityKey: string) => releaseHolder(driver, identityKey),
    /** Ends a turn. A request without a known outcome stays on record, so that its key is used again. */
    endTurn: ({ record, left }: LookupTurn, isKnown: boolean, now: number) =>
      driver.transaction(async (connection) => {
        const keepsKey = !isKnown && left === undefined
        const end = keepsKey ? `UPDATE turns SET holder = ''` : 'DELETE FROM turns'
        await connection.run(`${end} WHERE number = ?`, record)
        if (isKnown && left && !left.row) await connection.run(dropSql, left.key)
        await connection.run(dropOldSql, now - idempotencyTtlMs)
      }, 'single lookups'),
    /** Stores the answer to a lookup, for single lookups and for runs. `id` is for the first one of a day. */
    keep: (lookup: Lookup, answer: RowAnswer, now: number, id: string) =>
      driver.transaction(async (connection) => {
        const { operation, target, workspace, identity, hash } = lookup
        const identityKey = lookupsMark + dayOf(now)
        const { number } =
          (await connection.get<{ number: number }>(dayRunSql, identityKey, operation, target, workspace)) ??
          ((await connection.get(addSql, id, identityKey, operation, target, workspace, now)) as {
            number: number
          })
        const counted = await connection.get<{ done: number }>(countSql, now, number)
        const ordinal = (counted?.done ?? 1) - 1
        const row = { ordinal, identity, hash, repeats: false, most: 0, answer, source: 'live' as const }
        await keepAnswers(connection, number, [row], now)
        await indexAnswers(connection, [{ hash, place: toPlace(number, ordinal) }])
      }, 'single lookups'),
  }
}

const underWaySql = `SELECT 1 AS one FROM turns WHERE operation = ? AND target = ?
  UNION ALL SELECT 1 FROM runs WHERE status = 'running' AND operation = ? AND target = ? LIMIT 1`
// Single lookups only: of a killed run, its own engine keeps the replies until the run is resumed.
const dropSql = `DELETE FROM turns WHERE run = ? AND holder = ''`
const dropOldSql = `DELETE FROM turns WHERE holder = '' AND taken_at < ? AND run NOT IN (SELECT id FROM runs)`
const dayRunSql = `SELECT number FROM runs WHERE known_by = ? AND operation = ? AND target = ? AND workspace = ?
  ORDER BY number DESC LIMIT 1`
// It is in no list, and all its answers are indexed.
const addSql = `INSERT INTO runs (id, known_by, operation, target, workspace, profile, file, file_hash, request, status, total, indexed,
    forgotten, started_at)
  VALUES (?, ?, ?, ?, ?, '', '', '', '{}', 'finished', 0, 2, 1, ?) RETURNING number`
const countSql = 'UPDATE runs SET done = done + 1, ended_at = ? WHERE number = ? RETURNING done'
