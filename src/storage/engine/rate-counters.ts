import type { Counter, Reads, Transaction } from '../../engine/ports/ports.js'
import { type Connection, send } from '../driver/connection.js'

const counterSql = 'SELECT started_at AS "startedAt", count FROM counters WHERE owner = ? AND name = ?'
const setSql = `
INSERT INTO counters (owner, name, started_at, count) VALUES (?, ?, ?, ?)
ON CONFLICT (owner, name) DO UPDATE SET started_at = excluded.started_at, count = excluded.count`

/** Questions about counted windows and periods. */
export function counterReads(connection: Connection) {
  return {
    counter: (owner, name) => connection.get<Counter>(counterSql, owner, name),
  } satisfies Partial<Reads>
}

/** Changes to counted windows and periods. */
export function counterWrites(connection: Connection) {
  return {
    lockCounter: (owner, name) => connection.get<Counter>(counterSql, owner, name),
    setCounter: async (owner, name, counter) => {
      await send(connection, setSql, owner, name, counter.startedAt, counter.count)
    },
    dropCounter: async (owner, name) => {
      await connection.run('DELETE FROM counters WHERE owner = ? AND name = ?', owner, name)
    },
  } satisfies Partial<Transaction>
}
