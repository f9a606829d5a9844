import type { FinishedWork, WorkHold } from '../../api/calls/caller.js'
import { parseJson, toJson } from '../../api/values/json.js'
import { type Connection, type Driver, readNumber } from '../../storage/driver/connection.js'
import { countSpent, forgetRecords, isFirstRecord, rememberedMs, type Spender } from './spending.js'

type SettledHold = WorkHold & { readonly cost: number }

/** Returns the work that passed through this machine as a proxy, in a state database. */
export function passedWorkOver(driver: Driver) {
  return {
    /** Records work that a target accepted; `member` is the email of who asked for it. */
    start: (
      { target, operation, member = '' }: Pick<Spender, 'target' | 'operation' | 'member'>,
      ids: readonly string[],
      now: number,
    ): Promise<void> =>
      driver.transaction(async (connection) => {
        await connection.run('DELETE FROM passed_work WHERE started_at < ?', now - rememberedMs)
        for (const id of ids)
          await connection.run(
            `INSERT INTO passed_work (target, id, operation, started_at, member) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (target, id) DO UPDATE SET member = excluded.member WHERE passed_work.member = ''`,
            target,
            id,
            operation,
            now,
            member,
          )
      }),
    /** Records what work counts at. Returns it where the cost of the work is known already. */
    hold: (target: string, holds: readonly (WorkHold & { readonly id: string })[]): Promise<SettledHold[]> =>
      driver.transaction(async (connection) => {
        const settled: SettledHold[] = []
        for (const { id, ...hold } of holds) {
          const isNew = await connection.run(holdSql, toJson(hold), target, id)
          const row = isNew === 1 ? await workOf(connection, target, id) : undefined
          if (row && row.cost !== null) settled.push({ ...hold, cost: row.cost })
        }
        return settled
      }),
    /** Records the cost of finished work, once. Returns what it counts at until then, if anything. */
    finish: (
      { target, operation }: Pick<Spender, 'target' | 'operation'>,
      works: readonly FinishedWork[],
      now: number,
    ): Promise<SettledHold[]> =>
      driver.transaction(async (connection) => {
        const settled: SettledHold[] = []
        for (const { id, credits, price } of works) {
          const passed = price > 0 ? await readNumber(connection, passedSql, target, `${id} `, `${id}!`) : 0
          const cost = Math.max(credits, price * passed)
          if ((await connection.run(finishSql, target, id, operation, now, cost)) === 0) continue
          const row = await workOf(connection, target, id)
          if (row && row.hold !== null) settled.push({ ...(parseJson(row.hold) as WorkHold), cost })
        }
        return settled
      }),
    /** Returns the operation that started the first known one of these; `undefined` where others started them. */
    operationOf: (target: string, ids: readonly string[]): Promise<string | undefined> =>
      driver.read(async (connection) => (await findWork(connection, target, ids))?.operation),
    /** Records the cost of records of work, each of them once however often it passes. */
    count: (
      spender: Omit<Spender, 'number' | 'member'>,
      ids: readonly string[],
      records: readonly { readonly record: string; readonly credits: number }[],
      now: number,
    ): Promise<void> =>
      driver.transaction(async (connection) => {
        const { target } = spender
        await forgetRecords(connection, now)
        let credits = 0
        for (const one of records)
          if (await isFirstRecord(connection, target, one.record, now)) credits += one.credits
        if (credits === 0) return
        const member = (await findWork(connection, target, ids))?.member
        await countSpent(connection, { ...spender, number: 0, member }, { credits, calls: 1 }, now)
      }),
  }
}

interface WorkRow {
  readonly operation: string
  readonly member: string
  readonly hold: string | null
  readonly cost: number | null
}

const holdSql = 'UPDATE passed_work SET hold = ? WHERE target = ? AND id = ? AND hold IS NULL'
const finishSql = `INSERT INTO passed_work (target, id, operation, started_at, cost) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (target, id) DO UPDATE SET cost = excluded.cost WHERE passed_work.cost IS NULL`
// The name of a record begins with the id of its search.
const passedSql =
  'SELECT count(*) AS records FROM passed_records WHERE target = ? AND record > ? AND record < ?'

const workOf = (connection: Connection, target: string, id: string) =>
  connection.get<WorkRow>(
    'SELECT operation, member, hold, cost FROM passed_work WHERE target = ? AND id = ?',
    target,
    id,
  )

/** Returns the first known one of some work. */
async function findWork(connection: Connection, target: string, ids: readonly string[]) {
  for (const id of ids) {
    const row = await workOf(connection, target, id)
    if (row) return row
  }
  return undefined
}
