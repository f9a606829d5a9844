import type { Awaitable } from '../../api/values/objects.js'
import { type Connection, send } from '../../storage/driver/connection.js'

/** A counted window, day, week or month of an owner. */
export interface Counter {
  /** Start of the window: engine time. */
  readonly started_at: number
  readonly count: number
}

const counterSql = 'SELECT started_at, count FROM counters WHERE owner = ? AND name = ?'
const setCounterSql = `
INSERT INTO counters (owner, name, started_at, count) VALUES (?, ?, ?, ?)
ON CONFLICT (owner, name) DO UPDATE SET started_at = excluded.started_at, count = excluded.count`
// What members spend at servers is counted in real time.
const later = "started_at > ? AND owner NOT LIKE 'server:%'"

/** Returns a counter. Nothing else can change it in a transaction whose scope is its owner. */
export const readCounter = (tx: Connection, owner: string, name: string): Awaitable<Counter | undefined> =>
  tx.get<Counter>(counterSql, owner, name)

const ownersSql = 'SELECT owner, started_at, count FROM counters WHERE name = ? ORDER BY owner'

/** Returns the counters with a name, of all owners and in their order. */
export const countersNamed = (tx: Connection, name: string) =>
  tx.all<Counter & { readonly owner: string }>(ownersSql, name)

export async function setCounter(
  tx: Connection,
  owner: string,
  name: string,
  { started_at, count }: Counter,
) {
  await send(tx, setCounterSql, owner, name, started_at, count)
}

export async function dropCounter(tx: Connection, owner: string, name: string): Promise<void> {
  await tx.run('DELETE FROM counters WHERE owner = ? AND name = ?', owner, name)
}

/** Returns whether a counter began after a moment of engine time. */
export const hasCounterAfter = async (tx: Connection, now: number): Promise<boolean> =>
  (await tx.get(`SELECT 1 AS one FROM counters WHERE ${later} LIMIT 1`, now)) !== undefined

/** Lets the counters that began after a moment begin at it; their counts stay. */
export async function restartCounters(tx: Connection, now: number): Promise<void> {
  await tx.run(`UPDATE counters SET started_at = ? WHERE ${later}`, now, now)
}
