import type { Connection, Driver } from '../../driver/connection.js'
import { timeSql } from '../../driver/postgres/clock.js'

/** A run that is kept from everybody else until it is released. */
export interface HeldRun {
  release(): void | Promise<void>
}

/** Keeps everybody else from a run; nothing where somebody has it. */
export type Hold<Run> = (run: Run) => HeldRun | undefined | Promise<HeldRun | undefined>

/**
 * Who keeps everybody else from runs, by what they are known by: the system's locks of files where one machine has them,
 * leases where several share them.
 */
export interface RunLocks {
  /** Takes the lock of a run; nothing where somebody has it. */
  take(knownBy: string): Promise<HeldRun | undefined>
  isHeld(knownBy: string): Promise<boolean>
  /** Who has the lock, as part of a sentence; nothing where that is not known. */
  holder(knownBy: string): Promise<string | undefined>
  /** How long a lock outlives a holder who was killed, in milliseconds; absent where it does not. */
  readonly freedAfterMs?: number
  /** What the writes of this process to a run carry; those with another one than the run's are refused. */
  fenceOf(knownBy: string): string
}

/** A run whose lock was lost: another machine took it when nothing was heard from this one for a while. */
export class RunLost extends Error {
  override readonly name = 'RunLost'
  /** Exit code of a command that ends with it. */
  readonly exit = 15
  readonly hint =
    'See how far it is: prospect runs list, with --database or --shared as here. What was paid for is not lost.'

  constructor() {
    super('Another command has taken over this run: nothing was heard from this one for a while.')
  }
}

/** What a lease needs of the world. */
export interface LeaseOptions {
  /** Different with each call, and not to be guessed. */
  readonly token: () => string
  /** Who this process is, for others to read. */
  readonly holder: string
  /** How long a lock outlives its holder. */
  readonly leaseMs?: number
}

const usualLeaseMs = 30_000
/** So many times a lease is renewed before it could end. */
const beatsPerLease = 3

const nowSql = `(${timeSql.replace(' AS now', '')})`
// One that lasts longer than two from now was taken before the clock went back.
const freeSql = `(run_locks.lease_until <= ${nowSql} OR run_locks.lease_until > ${nowSql} + 2 * CAST(? AS BIGINT))`
const takeSql = `INSERT INTO run_locks (name, token, holder, lease_until) VALUES (?, ?, ?, ${nowSql} + CAST(? AS BIGINT))
  ON CONFLICT (name) DO UPDATE SET token = excluded.token, holder = excluded.holder, lease_until = excluded.lease_until
  WHERE ${freeSql} RETURNING token`
// Whoever had it and did not let it go may still be about to send what he had begun, also of a run that is finished. What
// workers were to send for him is refused by itself.
const ownSql = `UPDATE runs SET fence = ?,
  lost_at = CASE WHEN ? = 1 AND spread = 0 THEN ${nowSql} ELSE lost_at END WHERE known_by = ?`
const renewSql = `UPDATE run_locks SET lease_until = ${nowSql} + CAST(? AS BIGINT) WHERE name = ? AND token = ?`
const dropSql = 'DELETE FROM run_locks WHERE name = ? AND token = ?'
const heldSql = `SELECT holder FROM run_locks WHERE name = ? AND NOT ${freeSql}`

/**
 * Locks in a database that several machines share. Each is a row with a lease by the database's clock, which its holder
 * renews; when nothing is heard of him for so long, whoever comes next takes it. The lock is taken with the whole database
 * to oneself, and all runs it is about get its token in that moment: what the last holder was writing is done or refused,
 * never half seen, and whatever he still writes later finds another token than his.
 */
export function leaseLocks(
  driver: Driver,
  { token, holder, leaseMs = usualLeaseMs }: LeaseOptions,
): RunLocks {
  const fences = new Map<string, string>()
  const holderOf = async (knownBy: string) =>
    (await driver.read((reads) => reads.get<{ holder: string }>(heldSql, knownBy, leaseMs)))?.holder
  const hold = (name: string, own: string): HeldRun => {
    fences.set(name, own)
    const beat = setInterval(() => {
      // A database that is away for a moment ends no lease; one that was lost is found out by the next write.
      driver.transaction((c) => c.run(renewSql, leaseMs, name, own), `lock ${name}`).catch(() => {})
    }, leaseMs / beatsPerLease)
    beat.unref()
    return {
      release: async () => {
        clearInterval(beat)
        if (fences.get(name) === own) fences.delete(name)
        // Where the database is away it is free when its lease is over.
        await driver.transaction((c) => c.run(dropSql, name, own), `lock ${name}`).catch(() => {})
      },
    }
  }
  return {
    take: async (name) => {
      const own = token()
      const isTaken = await driver.transaction((c) => take(c, name, [own, holder, leaseMs]))
      return isTaken ? hold(name, own) : undefined
    },
    isHeld: async (name) => (await holderOf(name)) !== undefined,
    holder: holderOf,
    freedAfterMs: leaseMs,
    fenceOf: (name) => fences.get(name) ?? '',
  }
}

type Terms = readonly [token: string, holder: string, leaseMs: number]

async function take(connection: Connection, name: string, terms: Terms): Promise<boolean> {
  const [token, , leaseMs] = terms
  const before = await connection.get('SELECT 1 AS one FROM run_locks WHERE name = ?', name)
  if (!(await connection.get(takeSql, name, ...terms, leaseMs))) return false
  await connection.run(ownSql, token, before ? 1 : 0, name)
  return true
}
