import { idempotencyTtlMs } from '../../api/operations/facts.js'
import type { Connection, Driver } from '../driver/connection.js'

/** A rate window of a server, as this machine knows it. */
export interface ServerWindow {
  /** End in real time, not before that of the server's own window, which begins when a request arrives. */
  readonly endsAt: number
  /** Requests admitted in it. */
  readonly count: number
  /** The limit the server reported; null when it has reported none and the plan's limit holds. */
  readonly most: number | null
  /** Whether the server has answered in it, so that its own window has begun. */
  readonly confirmed: boolean
}

type KnownWindows = readonly (ServerWindow | undefined)[]

/** A call as it is stored. The request cannot be read from it. */
interface OpenCall {
  /** Digest of server, key and request. */
  readonly fingerprint: string
  readonly operation: string
  readonly fresh: string
  /** Real time. */
  readonly now: number
}

export type ServerMemory = ReturnType<typeof serverMemory>

/** Returns what a state database remembers of a server. */
export const serverMemory = (driver: Driver, origin: string) => ({
  /** Whether the server is known to support idempotency keys. */
  honours: async () => {
    const sql = 'SELECT honours_keys AS honours FROM servers WHERE origin = ?'
    const row = await driver.read((connection) => connection.get<{ honours: number }>(sql, origin))
    return row && row.honours === 1
  },
  remember: async (honours: boolean) => {
    const sql = `INSERT INTO servers (origin, honours_keys) VALUES (?, ?)
      ON CONFLICT (origin) DO UPDATE SET honours_keys = excluded.honours_keys`
    await driver.transaction((connection) => connection.run(sql, origin, honours ? 1 : 0))
  },
  windows: (owner: string, names: readonly string[]) =>
    driver.read((connection) => windowsOf(connection, owner, names)),
  /** Decides about windows of an owner in a transaction, so that no other process changes them meanwhile. */
  change: <T>(
    owner: string,
    names: readonly string[],
    decide: (known: KnownWindows) => { readonly keep: KnownWindows; readonly answer: T },
  ) =>
    driver.transaction(async (connection) => {
      const { keep, answer } = decide(await windowsOf(connection, owner, names))
      for (const [at, window] of keep.entries())
        if (window) {
          const { endsAt, count, most, confirmed } = window
          await connection.run(keepSql, owner, names[at] ?? '', endsAt, count, most, confirmed ? 1 : 0)
        }
      return answer
    }),
  /** Returns the key that a call was sent under before; otherwise the fresh one, which is kept from now on. */
  take: ({ fingerprint, operation, fresh, now }: OpenCall) =>
    driver.transaction(async (connection) => {
      await connection.run('DELETE FROM open_calls WHERE sent_at < ?', now - idempotencyTtlMs)
      const values = [fingerprint, operation, fresh, now]
      if ((await connection.run(openSql, ...values)) > 0) return { key: fresh, again: false }
      const sql = 'SELECT idempotency_key AS key FROM open_calls WHERE fingerprint = ?'
      const row = await connection.get<{ key: string }>(sql, fingerprint)
      return { key: row?.key ?? fresh, again: true }
    }),
  drop: async (fingerprint: string) => {
    await driver.transaction((connection) =>
      connection.run('DELETE FROM open_calls WHERE fingerprint = ?', fingerprint),
    )
  },
})

const openSql = `INSERT INTO open_calls (fingerprint, operation, idempotency_key, sent_at) VALUES (?, ?, ?, ?)
  ON CONFLICT DO NOTHING`
const keepSql = `INSERT INTO windows (owner, name, ends_at, count, most, confirmed) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (owner, name) DO UPDATE SET ends_at = excluded.ends_at, count = excluded.count,
    most = excluded.most, confirmed = excluded.confirmed`
const windowSql = 'SELECT ends_at AS endsAt, count, most, confirmed FROM windows WHERE owner = ? AND name = ?'

async function windowsOf(connection: Connection, owner: string, names: readonly string[]) {
  const windows: (ServerWindow | undefined)[] = []
  for (const name of names) {
    type WindowRow = Omit<ServerWindow, 'confirmed'> & { readonly confirmed: number }
    const row = await connection.get<WindowRow>(windowSql, owner, name)
    windows.push(row && { ...row, confirmed: row.confirmed === 1 })
  }
  return windows
}
