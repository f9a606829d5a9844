import type { Driver, Value } from '../../driver/connection.js'
import { countSpent, type Spender } from './budget.js'

/** What was spent in a day (UTC, real time) by the calls of one kind: of a run, or single ones. */
export interface Spent {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly profile: string
  readonly target: string
  readonly operation: string
  /** Id of the run; null for single calls. */
  readonly run: string | null
  readonly calls: number
  readonly credits: number
}

/** Which spending is meant; all of it when nothing is given. Days are inclusive. */
export interface SpentFilter {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly profile?: string | undefined
  readonly target?: string | undefined
}

/** What the commands of this machine spent. */
export interface Spending {
  count(
    spender: Omit<Spender, 'number'>,
    spent: { credits: number; calls: number },
    now: number,
  ): Promise<void>
  /** Oldest day first. */
  list(filter: SpentFilter): Promise<readonly Spent[]>
  /** Credits that are set aside in unfinished runs for rows whose outcome is open. */
  open(filter: Pick<SpentFilter, 'profile' | 'target'>): Promise<number>
}

const listSql = `
SELECT s.day, s.profile, s.target, s.operation, r.id AS run, s.calls, s.credits
FROM spending s LEFT JOIN runs r ON r.number = s.run`

/** The spending in a state database. */
export function spendingOver(driver: Driver): Spending {
  return {
    count: (spender, spent, now) =>
      driver.transaction((c) => countSpent(c, { ...spender, number: 0 }, spent, now), 'single calls'),
    list: ({ from, to, profile, target }) => {
      const { where, values } = buildWhere([
        ['s.day >= ?', from],
        ['s.day <= ?', to],
        ['s.profile = ?', profile],
        ['s.target = ?', target],
      ])
      const order = 'ORDER BY s.day, s.profile, s.target, s.operation, s.run'
      return driver.read((connection) => connection.all<Spent>(`${listSql} ${where} ${order}`, ...values))
    },
    open: async ({ profile, target }) => {
      const { where, values } = buildWhere([
        ['profile = ?', profile],
        ['target = ?', target],
      ])
      const sql = `SELECT coalesce(sum(reserved) FILTER (WHERE forgotten = 0), 0) AS credits FROM runs ${where}`
      const row = await driver.read((connection) => connection.get<{ credits: number }>(sql, ...values))
      return row?.credits ?? 0
    },
  }
}

function buildWhere(conditions: readonly (readonly [sql: string, value: string | undefined])[]) {
  const given = conditions.filter((each): each is [string, string] => each[1] !== undefined)
  const where = given.length === 0 ? '' : `WHERE ${given.map(([sql]) => sql).join(' AND ')}`
  return { where, values: given.map(([, value]): Value => value) }
}
