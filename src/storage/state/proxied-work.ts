import type { Driver } from '../driver/connection.js'
import { countSpent, type Spender } from './runs/spending.js'

/** How long a result is remembered: longer than clients ask for one. */
const rememberedMs = 90 * 86_400_000

/** Returns the work that passed through this machine as a proxy, in a state database. */
export function passedWorkOver(driver: Driver) {
  return {
    /** Records work that a target accepted. */
    start: (target: string, ids: readonly string[], operation: string, now: number): Promise<void> =>
      driver.transaction(async (connection) => {
        await connection.run('DELETE FROM passed_work WHERE started_at < ?', now - rememberedMs)
        for (const id of ids)
          await connection.run(
            'INSERT INTO passed_work (target, id, operation, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
            ...[target, id, operation, now],
          )
      }),
    /** Returns the operation that started the first known one of these; `undefined` where others started them. */
    operationOf: (target: string, ids: readonly string[]): Promise<string | undefined> =>
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
    /** Records the cost of records, each of them once however often it passes. */
    count: (
      spender: Omit<Spender, 'number'>,
      records: readonly { readonly record: string; readonly credits: number }[],
      now: number,
    ): Promise<void> =>
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
