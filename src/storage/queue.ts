import type { Awaitable } from '../api/values/objects.js'
import { type Connection, type Dialect, perDialect, type Value } from './driver/connection.js'

/**
 * A table whose rows one process at a time works on: queued jobs, deliveries, forwards, open requests, locks. Whoever takes a row
 * gets a lease on it, in its columns `token` and `lease_until`. The clock of the database counts, whatever those of the machines
 * say. The token fences: what is written behind a lost lease is refused. Further kinds of work use it too (decision 6).
 */
export interface LeasedTable {
  readonly table: string
  /** Columns that identify a row. */
  readonly key: readonly string[]
  /** The condition of rows that are not done; all without one. */
  readonly open?: string
}

const inMs = 'CAST(? AS BIGINT)'

/** The condition of a free lease; it takes the length of a lease. One that lasts longer than two was taken before the clock went back. */
export const freeIn = ({ now }: Pick<Dialect, 'now'>, table = ''): string =>
  `(${table}lease_until <= ${now} OR ${table}lease_until > ${now} + 2 * ${inMs})`

/** When a lease that begins now ends; it takes its length. */
export const endIn = ({ now }: Pick<Dialect, 'now'>): string => `${now} + ${inMs}`

export function leasesOf({ table, key, open = '1 = 1' }: LeasedTable) {
  const mine = `${key.map((name) => `${name} = ?`).join(' AND ')} AND token = ? AND ${open}`
  const keys = key.length === 1 ? String(key[0]) : `(${key.join(', ')})`
  const extendSql = perDialect(
    (dialect) => `UPDATE ${table} SET lease_until = ${endIn(dialect)} WHERE ${mine}`,
  )
  const hasSql = `SELECT 1 AS one FROM ${table} WHERE ${mine}`
  const holdSql = perDialect(({ forUpdate }) => hasSql + forUpdate)
  return {
    mine,
    /**
     * Returns the statement that takes the first row which `where` selects, and returns some columns. Its values are the token,
     * the length of the lease, those of `set`, and those of `where`, in which `free` takes the length again.
     */
    takeSql: (columns: string, where: (free: string, lock: string) => string, set = '') =>
      perDialect(
        (dialect) => `UPDATE ${table} SET token = ?, lease_until = ${endIn(dialect)}${set}
          WHERE ${keys} = ${where(freeIn(dialect), dialect.forUpdateSkipLocked)} RETURNING ${columns}`,
      ),
    /** The usual `where`: one row that is not done, free and fulfils a condition, in an order. */
    first:
      (condition: string, order = '') =>
      (free: string, lock: string) =>
        `(SELECT ${key.join(', ')} FROM ${table} WHERE ${open} AND ${condition.replace('{free}', free)}
        ${order && `ORDER BY ${order}`} LIMIT 1${lock})`,
    /** Returns whether a token has a row, as far as the server knows that is read from: a standby may lag behind. */
    has: async (tx: Connection, token: string, ...of: Value[]): Promise<boolean> =>
      (await tx.get(hasSql, ...of, token)) !== undefined,
    /** Returns whether a token still has a row, and keeps it so until the transaction ends. */
    hold: async (tx: Connection, token: string, ...of: Value[]): Promise<boolean> =>
      (await tx.get(holdSql(tx), ...of, token)) !== undefined,
    /** Makes a lease end so much later than now. Returns whether the token still had the row. */
    extend: async (tx: Connection, token: string, ms: number, ...of: Value[]): Promise<boolean> =>
      (await tx.run(extendSql(tx), ms, ...of, token)) > 0,
    /** Changes a row, and ends its lease. Returns whether the token still had it. */
    settle: async (
      tx: Connection,
      token: string,
      set: string,
      values: readonly Value[],
      ...of: Value[]
    ): Promise<boolean> =>
      (await tx.run(
        `UPDATE ${table} SET ${set}${set && ', '}lease_until = 0 WHERE ${mine}`,
        ...values,
        ...of,
        token,
      )) > 0,
  }
}

/** A table with lanes: first attempts in one are made in order, each due once that of the one before was made. */
export interface TableWithLanes extends LeasedTable {
  readonly lane: readonly string[]
  /** The place of a row in its lane. */
  readonly place: string
  /** When it is due; null while it waits for its turn. */
  readonly due: string
}

export function lanesOf({ table, key, open, lane, place, due }: TableWithLanes) {
  const inLane = lane.map((name) => `${name} = ?`).join(' AND ')
  const keys = key.length === 1 ? String(key[0]) : `(${key.join(', ')})`
  const allowed = `${open} AND attempts = 0 AND ${due} IS NOT NULL`
  const waiting = `${open} AND attempts = 0 AND ${due} IS NULL`
  const openSql = `SELECT 1 FROM ${table} WHERE ${inLane} AND ${allowed}`
  const nextSql = `UPDATE ${table} SET ${due} = ? WHERE ${keys} =
      (SELECT ${key.join(', ')} FROM ${table} WHERE ${inLane} AND ${waiting} ORDER BY ${place} LIMIT 1)
    AND NOT EXISTS (${openSql})`
  return {
    /** The conditions of rows whose first attempt is due, and of those that wait for it. */
    allowed,
    waiting,
    openSql,
    /** Makes the next row of a lane due, unless another first attempt in it is due or under way. */
    next: (tx: Connection, at: number, ...of: Value[]): Awaitable<number> =>
      tx.run(nextSql, at, ...of, ...of),
  }
}
