import { Refusal } from '../api/calls/errors.js'
import type { Connection, Driver, Value } from '../storage/driver/connection.js'
import { postgresDialect } from '../storage/driver/postgres/dialect.js'
import { endIn, freeIn, leasesOf } from '../storage/queue.js'

export interface HeldRun {
  release(): void | Promise<void>
}

/** Takes the lock of a run. Returns `undefined` where another process has it. */
export type Hold = (run: LockedRun) => HeldRun | undefined | Promise<HeldRun | undefined>

interface LockedRun {
  readonly number: number
  readonly identityKey: string
}

/** Runs `work` for each run that no other process works on, under its lock. */
export async function forEachFree<Run extends LockedRun>(
  runs: readonly Run[],
  hold: Hold,
  work: (run: Run) => Promise<void>,
): Promise<void> {
  for (const run of runs) {
    const lock = await hold(run)
    if (!lock) continue
    try {
      await work(run)
    } finally {
      await lock.release()
    }
  }
}

/** Locks of runs: locks of files in the home of one machine, leases in a database that several machines share. */
export interface RunLocks {
  take(identityKey: string): Promise<HeldRun | undefined>
  /** Within a transaction, its connection is asked. */
  isHeld(identityKey: string, connection?: Connection): Promise<boolean>
  /** Returns who has the lock, as part of a sentence; `undefined` where that is not known. */
  holder(identityKey: string): Promise<string | undefined>
  /** How long a lock outlives a holder that was killed, in milliseconds; absent where it does not. */
  readonly freedAfterMs?: number
  /** Returns the fencing token that this process writes to a run with. A run refuses writes with another token. */
  fenceOf(identityKey: string): string
}

/** Returns the refusal of a run whose lock another machine has taken, because this one was silent for a while. */
export const runLost = (): Refusal => new Refusal('run.taken_over')

export interface OwnedRun {
  readonly number: number
  readonly fence: string
}

const own = 'number = ? AND fence = ?'

/** Changes the row of a run: `set` is the SQL after SET. Throws a Refusal where the run has another fencing token. */
export function changeRun(
  connection: Connection,
  { number, fence }: OwnedRun,
  set: string,
  ...values: Value[]
): void | Promise<void> {
  const changes = connection.run(`UPDATE runs SET ${set} WHERE ${own}`, ...values, number, fence)
  return changes instanceof Promise ? changes.then(requireOne) : requireOne(changes)
}

/** Notes when a run was heard of last, which a clock that goes back does not undo; takes the time twice. */
export const heardAt = 'ended_at = CASE WHEN ended_at > ? THEN ended_at ELSE ? END'

function requireOne(changes: number): void {
  if (changes === 0) throw runLost()
}

/** Throws a Refusal where another process has taken the run over. A lock is taken only while no process writes. */
export async function checkOwn(connection: Connection, { number, fence }: OwnedRun): Promise<void> {
  if (fence !== '' && !(await connection.get(`SELECT 1 AS one FROM runs WHERE ${own}`, number, fence)))
    throw runLost()
}

const defaultLeaseMs = 30_000
/** How many times a lease is renewed before it could expire. */
const beatsPerLease = 3

// Machines share no other database.
const [dialect, leases] = [postgresDialect, leasesOf({ table: 'run_locks', key: ['name'] })]
const freeSql = freeIn(dialect, 'run_locks.')
const takeSql = `INSERT INTO run_locks (name, token, holder, lease_until) VALUES (?, ?, ?, ${endIn(dialect)})
  ON CONFLICT (name) DO UPDATE SET token = excluded.token, holder = excluded.holder, lease_until = excluded.lease_until
  WHERE ${freeSql} RETURNING token`
// A holder that did not release the lock may still send rows, even of a finished run.
const markLostSql = `UPDATE runs SET fence = ?,
  lost_at = CASE WHEN ? = 1 THEN ${dialect.now} ELSE lost_at END WHERE known_by = ?`
const dropSql = 'DELETE FROM run_locks WHERE name = ? AND token = ?'
const heldSql = `SELECT holder FROM run_locks WHERE name = ? AND NOT ${freeSql}`

/**
 * Returns the locks in a database that several machines share. Each lock is a row with a lease by the database's clock. Its
 * holder renews it; when it expires, another process takes the lock. Taking locks the whole database and gives all runs of the
 * lock a new fencing token. So a write of the last holder is complete or refused, never half done, and its later writes carry
 * an old token. `token` returns a new unguessable text; `holder` describes this process for others.
 */
export function leaseLocks(
  driver: Driver,
  { token, holder, leaseMs = defaultLeaseMs }: { token: () => string; holder: string; leaseMs?: number },
): RunLocks {
  const fences = new Map<string, string>()
  const holderIn = (reads: Connection, identityKey: string) =>
    reads.get<{ holder: string }>(heldSql, identityKey, leaseMs)
  const holderOf = async (identityKey: string) =>
    (await driver.read((reads) => holderIn(reads, identityKey)))?.holder
  const hold = (name: string, fence: string): HeldRun => {
    fences.set(name, fence)
    const beat = setInterval(() => {
      // A short outage of the database ends no lease. If the lease was lost, the next write fails.
      driver.transaction((c) => leases.extend(c, fence, leaseMs, name), `lock ${name}`).catch(() => {})
    }, leaseMs / beatsPerLease)
    beat.unref()
    return {
      release: async () => {
        clearInterval(beat)
        if (fences.get(name) === fence) fences.delete(name)
        // Where the database cannot be reached, the lock is free when its lease expires.
        await driver.transaction((c) => c.run(dropSql, name, fence), `lock ${name}`).catch(() => {})
      },
    }
  }
  return {
    take: async (name) => {
      const fence = token()
      const isTaken = await driver.transaction(async (c) => {
        const before = await c.get('SELECT 1 AS one FROM run_locks WHERE name = ?', name)
        if (!(await c.get(takeSql, name, fence, holder, leaseMs, leaseMs))) return false
        await c.run(markLostSql, fence, before ? 1 : 0, name)
        return true
      })
      return isTaken ? hold(name, fence) : undefined
    },
    isHeld: async (name, within) => (await (within ? holderIn(within, name) : holderOf(name))) !== undefined,
    holder: holderOf,
    freedAfterMs: leaseMs,
    fenceOf: (name) => fences.get(name) ?? '',
  }
}
