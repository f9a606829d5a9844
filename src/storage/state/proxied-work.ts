import type { Driver } from '../driver/connection.js'
import { countSpent, type Spender } from './runs/spending.js'

/** A record that passed, by what it is known by, and what it cost. */
export interface PassedRecord {
  readonly record: string
  readonly credits: number
}

/** What is remembered of work that goes on behind this machine. */
export interface PassedWork {
  /** Notes work that a target accepted. */
  start(target: string, ids: readonly string[], operation: string, now: number): Promise<void>
  /** The operation that started the first of these that is known; nothing where others started them. */
  operationOf(target: string, ids: readonly string[]): Promise<string | undefined>
  /** Puts on record what records cost, each of them once however often it passes. */
  count(spender: Omit<Spender, 'number'>, records: readonly PassedRecord[], now: number): Promise<void>
}

/** How long a result is known again: longer than anybody asks for one. */
const rememberedMs = 90 * 86_400_000

/** The passed work of a state database. */
export function passedWorkOver(driver: Driver): PassedWork {
  return {
    start: (target, ids, operation, now) =>
      driver.transaction(async (connection) => {
        await connection.run('DELETE FROM passed_work WHERE started_at < ?', now - rememberedMs)
        for (const id of ids)
          await connection.run(
            'INSERT INTO passed_work (target, id, operation, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
            ...[target, id, operation, now],
          )
      }),
    operationOf: (target, ids) =>
      driver.read(async (connection) => {
        for (const id of ids) {
          const row = await connection.get<{ operation: string }>(
            'SELECT operation FROM passed_work WHERE target = ? AND id = ?',
            ...[target, id],
          )
          if (row) return row.operation
        }
        return undefined
      }),
    count: (spender, records, now) =>
      driver.transaction(async (connection) => {
        await connection.run('DELETE FROM passed_records WHERE counted_at < ?', now - rememberedMs)
        let credits = 0
        for (const one of records) {
          const isNew = await connection.run(
            'INSERT INTO passed_records (target, record, counted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
            ...[spender.target, one.record, now],
          )
          if (isNew === 1) credits += one.credits
        }
        if (credits > 0) await countSpent(connection, { ...spender, number: 0 }, { credits, calls: 1 }, now)
      }),
  }
}
