import type { Connection, Driver } from '../../driver/connection.js'

/** A name that an engine had on record before it came to another place, and what a run was known by under it. */
export interface Former {
  readonly target: string
  readonly knownBy: string
  /** It counts only where this engine was the last to have that name. */
  readonly engine?: string | undefined
}

/** A target under its name of now. */
export interface Renamed {
  readonly target: string
  readonly knownBy: string
  readonly formerly?: readonly Former[] | undefined
  /** The engine that has the name now. */
  readonly engine?: string | undefined
}

const nameSql = `INSERT INTO engines (name, id) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET id = excluded.id WHERE engines.id <> excluded.id`
const wasSql = 'SELECT 1 AS one FROM engines WHERE name = ? AND id = ?'
// One that is under way goes on under the name that it began with.
const knownSql = `UPDATE runs SET known_by = ? WHERE known_by = ? AND target = ? AND status <> 'running'`
const foundSql = `SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM runs WHERE known_by = ? AND target IN (?, ?))
  OR EXISTS (SELECT 1 FROM runs WHERE target = ?) OR EXISTS (SELECT 1 FROM spending WHERE target = ?)`
const runsSql = `UPDATE runs SET target = ? WHERE target = ? AND status <> 'running'`
const addSql = `INSERT INTO spending (day, profile, target, operation, run, credits, calls)
  SELECT day, profile, ?, operation, run, credits, calls FROM spending WHERE target = ?
  ON CONFLICT (day, profile, target, operation, run)
  DO UPDATE SET credits = spending.credits + excluded.credits, calls = spending.calls + excluded.calls`

/**
 * Brings what is on record under former names of an engine to its name of now: runs go on, their answers serve others, and
 * what was spent is counted together. It is quick where there is nothing of the kind.
 */
export async function adoptFormer(driver: Driver, renamed: Renamed): Promise<void> {
  const { engine, target, formerly = [] } = renamed
  if (engine === undefined && formerly.length === 0) return
  const isKnown = await driver.read(async (reads) => {
    for (const former of formerly) if (await isOnRecord(reads, former, target)) return false
    return engine === undefined || (await reads.get(wasSql, target, engine)) !== undefined
  })
  if (isKnown) return
  await driver.transaction(async (connection) => {
    for (const former of formerly)
      if (await isOnRecord(connection, former, target)) await rename(connection, former, renamed)
    if (engine !== undefined) await connection.run(nameSql, target, engine)
  })
}

/** A run may have its engine's new name already, and be known by what was asked for under the old one. */
async function isOnRecord(connection: Connection, former: Former, now: string): Promise<boolean> {
  const { target, engine, knownBy } = former
  if (engine !== undefined && !(await connection.get(wasSql, target, engine))) return false
  return (await connection.get(foundSql, knownBy, target, now, target, target)) !== undefined
}

async function rename(connection: Connection, former: Former, now: Renamed): Promise<void> {
  await connection.run(runsSql, now.target, former.target)
  await connection.run(knownSql, now.knownBy, former.knownBy, now.target)
  await connection.run(addSql, now.target, former.target)
  await connection.run('DELETE FROM spending WHERE target = ?', former.target)
}
