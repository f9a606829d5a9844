import type { RowAnswer } from '../../../batch/journal/answer.js'
import { toPlace } from '../../database/row-places.js'
import type { Driver } from '../../driver/connection.js'
import { indexAnswers, keepAnswers, type Lookup, type StoredAnswer, storedAnswer } from './answers.js'
import { runsOver } from './runs.js'
import { dayOf } from './spending.js'

/** Begins what the hidden runs are known by that hold the answers to single lookups, one for each day. */
export const lookupsMark = 'lookups-'

/** The stored answers that single lookups share with runs. */
export type LookupStore = ReturnType<typeof lookupsOver>

/** Returns the stored answers in a state database. */
export function lookupsOver(driver: Driver) {
  const runs = runsOver(driver)
  return {
    /** Returns the newest answer to a lookup that was stored since a moment, by a single lookup or a run that has ended. */
    find: async (lookup: Lookup, since: number): Promise<StoredAnswer | undefined> => {
      await runs.indexEnded(lookup.operation, lookup.target)
      return driver.read((reads) => storedAnswer(reads, lookup, since))
    },
    /** Stores the answer to a lookup, for single lookups and for runs. `id` is for the first one of a day. */
    keep: ({ operation, target, identity, hash }: Lookup, answer: RowAnswer, now: number, id: string) =>
      driver.transaction(async (connection) => {
        const knownBy = lookupsMark + dayOf(now)
        const { number } =
          (await connection.get<{ number: number }>(dayRunSql, knownBy, operation, target)) ??
          ((await connection.get(addSql, id, knownBy, operation, target, now)) as { number: number })
        const counted = await connection.get<{ done: number }>(countSql, now, number)
        const ordinal = (counted?.done ?? 1) - 1
        const row = { ordinal, identity, hash, repeats: false, most: 0, answer, source: 'live' as const }
        await keepAnswers(connection, number, [row], now)
        await indexAnswers(connection, [{ hash, place: toPlace(number, ordinal) }])
      }, 'single lookups'),
  }
}

const dayRunSql = `SELECT number FROM runs WHERE known_by = ? AND operation = ? AND target = ?
  ORDER BY number DESC LIMIT 1`
// It is in no list, and all its answers are indexed.
const addSql = `INSERT INTO runs (id, known_by, operation, target, profile, file, file_hash, request, status, total, indexed,
    forgotten, started_at)
  VALUES (?, ?, ?, ?, '', '', '', '{}', 'finished', 0, 2, 1, ?) RETURNING number`
const countSql = 'UPDATE runs SET done = done + 1, ended_at = ? WHERE number = ? RETURNING done'
