import type { Connection, Driver } from '../../driver/connection.js'

/** A name that an engine had before it moved, and what a run was known by under it. */
export interface TargetAlias {
  readonly target: string
  readonly knownBy: string
  /** The alias counts only when this engine was the last to have that name. */
  readonly engine?: string | undefined
}

/** The current name of a target, with its aliases. */
export interface TargetNames {
  readonly target: string
  readonly knownBy: string
  readonly formerly?: readonly TargetAlias[] | undefined
  /** The engine that has the current name. */
  readonly engine?: string | undefined
}

const nameSql = `INSERT INTO engines (name, id) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET id = excluded.id WHERE engines.id <> excluded.id`
const wasSql = 'SELECT 1 AS one FROM engines WHERE name = ? AND id = ?'
// A running run keeps the name it began with.
const knownSql = `UPDATE runs SET known_by = ? WHERE known_by = ? AND target = ? AND status <> 'running'`
const foundSql = `SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM runs WHERE known_by = ? AND target IN (?, ?))
  OR EXISTS (SELECT 1 FROM runs WHERE target = ?) OR EXISTS (SELECT 1 FROM spending WHERE target = ?)`
const runsSql = `UPDATE runs SET target = ? WHERE target = ? AND status <> 'running'`
const addSql = `INSERT INTO spending (day, profile, target, operation, run, credits, calls)
  SELECT day, profile, ?, operation, run, credits, calls FROM spending WHERE target = ?
  ON CONFLICT (day, profile, target, operation, run)
  DO UPDATE SET credits = spending.credits + excluded.credits, calls = spending.calls + excluded.calls`

/**
 * Moves what is recorded under former names of an engine to its current name. Then runs can be resumed, their answers
 * serve other runs, and spending is counted together. It is quick when there are no such records.
 */
export async function adoptAliases(driver: Driver, renamed: TargetNames): Promise<void> {
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
async function isOnRecord(connection: Connection, former: TargetAlias, now: string): Promise<boolean> {
  const { target, engine, knownBy } = former
  if (engine !== undefined && !(await connection.get(wasSql, target, engine))) return false
  return (await connection.get(foundSql, knownBy, target, now, target, target)) !== undefined
}

async function rename(connection: Connection, former: TargetAlias, now: TargetNames): Promise<void> {
  await connection.run(runsSql, now.target, former.target)
  await connection.run(knownSql, now.knownBy, former.knownBy, now.target)
  await connection.run(addSql, now.target, former.target)
  await connection.run('DELETE FROM spending WHERE target = ?', former.target)
}
