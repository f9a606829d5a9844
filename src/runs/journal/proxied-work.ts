import type { FinishedWork, WorkHold } from '../../api/calls/caller.js'
import { parseJson, toJson } from '../../api/values/json.js'
import { countSpent } from '../../lookups/budgets.js'
import { type Connection, type Driver, readNumber } from '../../storage/driver/connection.js'
import { forgetRecords, isFirstRecord, rememberedMs } from './spending.js'

interface ProxiedWorkPorts {
  /** The server that the work passed to, and the profile that it is spent by. */
  readonly target: string
  readonly profile: string
  now(): number
  /** Has work count at its cost instead of what it counted at. */
  settle(hold: WorkHold, cost: number): Promise<void>
}

/** Returns the work that passed through this machine as a proxy, in a state database. */
export function proxiedWorkOver(driver: Driver, { target, profile, now, settle }: ProxiedWorkPorts) {
  return {
    start: (ids: readonly string[], operation: string, member = ''): Promise<void> =>
      driver.transaction(async (connection) => {
        await connection.run('DELETE FROM passed_work WHERE started_at < ?', now() - rememberedMs)
        for (const id of ids) await connection.run(startSql, target, id, operation, now(), member)
      }),
    /** The cost of the work may be known already. */
    hold: async (holds: readonly (WorkHold & { readonly id: string })[]): Promise<void> => {
      const settled = await driver.transaction(async (connection) => {
        const found: [WorkHold, number][] = []
        for (const { id, ...hold } of holds) {
          const isNew = await connection.run(holdSql, toJson(hold), target, id)
          const row = isNew === 1 ? await workOf(connection, target, id) : undefined
          if (row && row.cost !== null) found.push([hold, row.cost])
        }
        return found
      })
      for (const one of settled) await settle(...one)
    },
    finish: async (operation: string, works: readonly FinishedWork[]): Promise<void> => {
      const settled = await driver.transaction(async (connection) => {
        const found: [WorkHold, number][] = []
        for (const { id, credits, price } of works) {
          const passed = price > 0 ? await readNumber(connection, passedSql, target, `${id} `, `${id}!`) : 0
          const cost = Math.max(credits, price * passed)
          if ((await connection.run(finishSql, target, id, operation, now(), cost)) === 0) continue
          const row = await workOf(connection, target, id)
          if (row && row.hold !== null) found.push([parseJson(row.hold) as WorkHold, cost])
        }
        return found
      })
      for (const one of settled) await settle(...one)
    },
    operationOf: (ids: readonly string[]): Promise<string | undefined> =>
      driver.read(async (connection) => (await findWork(connection, target, ids))?.operation),
    count: (
      operation: string,
      ids: readonly string[],
      records: readonly { readonly record: string; readonly credits: number }[],
    ): Promise<void> =>
      driver.transaction(async (connection) => {
        await forgetRecords(connection, now())
        let credits = 0
        for (const one of records)
          if (await isFirstRecord(connection, target, one.record, now())) credits += one.credits
        if (credits === 0) return
        const member = (await findWork(connection, target, ids))?.member
        const spender = { number: 0, profile, target, operation, member }
        await countSpent(connection, spender, { credits, calls: 1 }, now())
      }),
  }
}

interface WorkRow {
  readonly operation: string
  readonly member: string
  readonly hold: string | null
  readonly cost: number | null
}

const startSql = `INSERT INTO passed_work (target, id, operation, started_at, member) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (target, id) DO UPDATE SET member = excluded.member WHERE passed_work.member = ''`
const holdSql = 'UPDATE passed_work SET hold = ? WHERE target = ? AND id = ? AND hold IS NULL'
const finishSql = `INSERT INTO passed_work (target, id, operation, started_at, cost) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (target, id) DO UPDATE SET cost = excluded.cost WHERE passed_work.cost IS NULL`
// The name of a record begins with the id of its search.
const passedSql =
  'SELECT count(*) AS records FROM passed_records WHERE target = ? AND record > ? AND record < ?'

const workSql = 'SELECT operation, member, hold, cost FROM passed_work WHERE target = ? AND id = ?'

const workOf = (connection: Connection, target: string, id: string) =>
  connection.get<WorkRow>(workSql, target, id)

async function findWork(connection: Connection, target: string, ids: readonly string[]) {
  for (const id of ids) {
    const row = await workOf(connection, target, id)
    if (row) return row
  }
  return undefined
}
