import { unknownAnswer } from '../../../batch/journal/answer.js'
import type { Connection, Driver, Value } from '../../driver/connection.js'
import { placesOf, toPlace } from '../../engine/row-replies.js'
import { forgetAnswers, indexNext } from './answers.js'
import { RunLost } from './run-leases.js'

/** A former name of an engine, and the digest that a run had under it. */
export interface TargetAlias {
  readonly target: string
  readonly knownBy: string
  /** The alias counts only when this engine was the last with that name. */
  readonly engine?: string | undefined
}

/** The current name of a target, with its aliases. */
interface NamedTarget {
  readonly target: string
  readonly knownBy: string
  readonly formerly?: readonly TargetAlias[] | undefined
  /** The engine that has the current name. */
  readonly engine?: string | undefined
}

/** What makes a run the same run when it is started again. */
export interface RunIdentity extends NamedTarget {
  /** Digest of everything that enters its requests. */
  readonly knownBy: string
  readonly operation: string
  /** Absolute path of the input. */
  readonly file: string
  /** SHA-256 of the input. */
  readonly fileHash: string
}

/** A run that begins. */
export interface NewRun extends RunIdentity {
  readonly id: string
  readonly profile: string
  /** What it takes to start it again, as JSON. */
  readonly request: string
  /** Absolute path of the output; null for stdout. */
  readonly output: string | null
  /** Rows of the input. */
  readonly total: number
  readonly startedAt: number
  /** Whether its rows are called by workers, for whom a part that lost the run can charge nothing any more. */
  readonly spread?: 0 | 1
}

/** What may be another way when a run goes on. */
export type Continuation = Pick<NewRun, 'file' | 'output' | 'request' | 'spread'>

/** A run on record. */
export interface Run extends NewRun {
  readonly number: number
  /** `running` is what it was last; only its lock tells whether it still does. */
  readonly status: 'running' | 'stopped' | 'finished'
  /** Rows that are answered. */
  readonly done: number
  /** What its rows cost so far. */
  readonly credits: number
  /** Set aside for rows whose outcome is not known. */
  readonly reserved: number
  /** Rows that may have been sent without an answer on record. */
  readonly sentFrom: number
  readonly sentTo: number
  /** The row that was sent with a lower `limit` because of a budget, and that limit. */
  readonly loweredRow: number | null
  readonly loweredLimit: number | null
  /** Whether the index has none for certain of its answers (0), those of lookups that repeat (1), or all (2). */
  readonly indexed: 0 | 1 | 2
  /** When one of its parts last lost it to another machine, and may not have ended; null where none did. */
  readonly lostAt: number | null
  /** Whether the rows of its last part were called by workers. */
  readonly spread: 0 | 1
  /** When its last part ended in order; where none has, when it was last known to be under way. */
  readonly endedAt: number | null
}

/** The runs of this machine, or of all that share a database. */
export interface Runs {
  add(run: NewRun): Promise<Run>
  /** Goes on with a run: it is running again, maybe from a file that was moved, maybe to another output. */
  begin(run: Run, going: Continuation, now: number): Promise<Run>
  /** Brings what is on record under former names of a target to the one of now. */
  adopt(target: NamedTarget): Promise<void>
  /** The newest run of an identity. */
  known(identity: Pick<RunIdentity, 'knownBy' | 'target'>): Promise<Run | undefined>
  /** The newest unfinished run with paid rows that read other content of the same file, and was not given up since. */
  inTheWay(run: RunIdentity): Promise<Run | undefined>
  /** Runs whose id begins so. */
  find(id: string): Promise<readonly Run[]>
  /** All runs, newest first. */
  list(): Promise<readonly Run[]>
  /** Whether a run writes, or wrote, to a path. */
  writesTo(output: string): Promise<boolean>
  /** Puts the answers of other runs of the same operation and target into the index; answers the numbers of these runs. */
  indexOthers(run: Run): Promise<ReadonlySet<number>>
  /** Puts the answers of a run into the index. */
  index(run: Run): Promise<void>
  /** Whether a run has rows whose outcome is on record as unknown. */
  hasUnknown(run: Run): Promise<boolean>
  /** Takes a run off the record at a moment. Its answers stay in the store; what is set aside for it counts for that day. */
  forget(run: Run, now: number): Promise<void>
}

const columns = `number, id, known_by AS "knownBy", operation, target, profile, file, file_hash AS "fileHash", request, output,
  status, total, done, credits, reserved, sent_from AS "sentFrom", sent_to AS "sentTo", lowered_row AS "loweredRow",
  lowered_limit AS "loweredLimit", indexed, lost_at AS "lostAt", spread, started_at AS "startedAt", ended_at AS "endedAt"`
const select = `SELECT ${columns} FROM runs WHERE forgotten = 0`
const lockSql = 'SELECT 1 AS one FROM run_locks WHERE name = ? AND token = ?'
const unknownSql = 'SELECT 1 FROM answers WHERE place >= ? AND place < ? AND error = ? LIMIT 1'
// One with other content, or the same command again, can only have been started after it by giving it up.
const inTheWay = `file = ? AND operation = ? AND target = ? AND file_hash <> ?
  AND status <> 'finished' AND credits + reserved > 0 AND NOT EXISTS (
    SELECT 1 FROM runs AS later WHERE later.file = runs.file AND later.operation = runs.operation
      AND later.target = runs.target AND later.number > runs.number
      AND (later.known_by = runs.known_by OR later.file_hash <> runs.file_hash))`

/** What a run by itself is written under. */
export const runScope = (number: number): string => `run ${number}`

/** The runs in a state database; `fenceOf` is of the locks they are held by, where machines share them. */
export function runsOver(driver: Driver, fenceOf: (knownBy: string) => string = () => ''): Runs {
  const one = (condition: string, ...values: Value[]) =>
    driver.read((connection) => connection.get<Run>(`${select} AND ${condition}`, ...values))
  const all = (rest: string, ...values: Value[]) =>
    driver.read((connection) => connection.all<Run>(`${select} ${rest}`, ...values))
  return {
    add: (run) => driver.transaction((connection) => add(connection, run, fenceOf(run.knownBy))),
    begin: async (run, going, now) => {
      const begun = await driver.transaction(
        (connection) => begin(connection, run, going, now, fenceOf(run.knownBy)),
        runScope(run.number),
      )
      if (!begun) throw new RunLost()
      return begun
    },
    adopt: (target) => adoptAliases(driver, target),
    known: ({ knownBy, target }) =>
      one('known_by = ? AND target = ? ORDER BY number DESC LIMIT 1', knownBy, target),
    inTheWay: ({ file, operation, target, fileHash }) =>
      one(`${inTheWay} ORDER BY number DESC LIMIT 1`, file, operation, target, fileHash),
    find: (id) => all(`AND substr(id, 1, length(?)) = ? ORDER BY number DESC`, id, id),
    list: () => all('ORDER BY number DESC'),
    writesTo: async (output) => (await one('output = ? LIMIT 1', output)) !== undefined,
    indexOthers: (run) => indexOthers(driver, run),
    index: (run) => indexRun(driver, run.number),
    hasUnknown: async ({ number }) =>
      (await driver.read((connection) =>
        connection.get(unknownSql, ...placesOf(number), unknownAnswer.error),
      )) !== undefined,
    forget: ({ number }, now) => driver.transaction((connection) => forget(connection, number, now)),
  }
}

// One that is finished stays so whatever becomes of the rows that it sends again. What is set aside counts for the newest day
// that it was heard of. Workers of an earlier part may still have its rows when the next one does without them.
const beginSql = `UPDATE runs SET status = CASE WHEN status = 'finished' THEN status ELSE 'running' END,
  file = ?, output = ?, request = ?, indexed = 0, ended_at = CASE WHEN ended_at > ? THEN ended_at ELSE ? END,
  lost_at = CASE WHEN spread = 1 AND ? = 0 THEN ? ELSE lost_at END, spread = ?
  WHERE number = ? AND fence = ? RETURNING ${columns}`

const begin = async (
  connection: Connection,
  { number }: Run,
  { file, output, request, spread = 0 }: Continuation,
  now: number,
  fence: string,
): Promise<Run | undefined> =>
  connection.get<Run>(beginSql, ...[file, output, request, now, now, spread, now, spread, number, fence])

async function add(connection: Connection, run: NewRun, fence: string): Promise<Run> {
  if (fence !== '' && !(await connection.get(lockSql, run.knownBy, fence))) throw new RunLost()
  const made = await connection.get<Run>(
    `INSERT INTO runs (id, known_by, operation, target, profile, file, file_hash, request, output, total, started_at,
       fence, spread, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running') RETURNING ${columns}`,
    ...[run.id, run.knownBy, run.operation, run.target, run.profile, run.file, run.fileHash, run.request],
    ...[run.output, run.total, run.startedAt, fence, run.spread ?? 0],
  )
  if (!made) throw new Error('a run was not put on record')
  // Refused before anything is paid where the rows of the next one would have no places of their own.
  toPlace(made.number + 1, 0)
  return made
}

async function indexOthers(driver: Driver, { number, operation, target }: Run): Promise<ReadonlySet<number>> {
  const others = await driver.read((connection) =>
    connection.all<Pick<Run, 'number' | 'indexed'>>(
      'SELECT number, indexed FROM runs WHERE operation = ? AND target = ? AND number <> ?',
      ...[operation, target, number],
    ),
  )
  for (const other of others)
    if (other.indexed < 2) {
      await indexRun(driver, other.number)
      await driver.transaction(
        // One that is running has more to come.
        (c) => c.run(`UPDATE runs SET indexed = 2 WHERE number = ? AND status <> 'running'`, other.number),
        runScope(other.number),
      )
    }
  return new Set(others.map((other) => other.number))
}

async function indexRun(driver: Driver, run: number): Promise<void> {
  for (let after: number | undefined = toPlace(run, 0) - 1; after !== undefined; ) {
    const from: number = after
    after = await driver.transaction((connection) => indexNext(connection, run, from), runScope(run))
  }
}

async function forget(connection: Connection, number: number, now: number): Promise<void> {
  await forgetAnswers(connection, number)
  await forgetBulks(connection, number)
  // Rows of a run that was killed may have been paid without an answer on record: the budget of the day still has them.
  await connection.run(
    `UPDATE runs SET forgotten = 1, request = '{}', status = 'stopped',
       ended_at = CASE WHEN status = 'running' THEN ? ELSE ended_at END WHERE number = ?`,
    ...[now, number],
  )
}

/** Deletes the requests of a run that took several rows at once. */
export async function forgetBulks(connection: Connection, run: number): Promise<void> {
  await connection.run('DELETE FROM bulks WHERE run = ?', run)
}

const nameSql = `INSERT INTO engines (name, id) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET id = excluded.id WHERE engines.id <> excluded.id`
const hadNameSql = 'SELECT 1 AS one FROM engines WHERE name = ? AND id = ?'
// A running run keeps the name it started with.
const renameDigestSql = `UPDATE runs SET known_by = ? WHERE known_by = ? AND target = ? AND status <> 'running'`
const recordedSql = `SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM runs WHERE known_by = ? AND target IN (?, ?))
  OR EXISTS (SELECT 1 FROM runs WHERE target = ?) OR EXISTS (SELECT 1 FROM spending WHERE target = ?)`
const renameRunsSql = `UPDATE runs SET target = ? WHERE target = ? AND status <> 'running'`
const moveSpendingSql = `INSERT INTO spending (day, profile, target, operation, run, credits, calls)
  SELECT day, profile, ?, operation, run, credits, calls FROM spending WHERE target = ?
  ON CONFLICT (day, profile, target, operation, run)
  DO UPDATE SET credits = spending.credits + excluded.credits, calls = spending.calls + excluded.calls`

/**
 * Moves what is recorded under former names of an engine to its current name. Then runs can be resumed, their answers
 * serve other runs, and spending is counted together. It is quick when there are no such records.
 */
export async function adoptAliases(driver: Driver, renamed: NamedTarget): Promise<void> {
  const { engine, target, formerly = [] } = renamed
  if (engine === undefined && formerly.length === 0) return
  const isKnown = await driver.read(async (reads) => {
    for (const former of formerly) if (await isRecorded(reads, former, target)) return false
    return engine === undefined || (await reads.get(hadNameSql, target, engine)) !== undefined
  })
  if (isKnown) return
  await driver.transaction(async (connection) => {
    for (const former of formerly)
      if (await isRecorded(connection, former, target)) await renameTarget(connection, former, renamed)
    if (engine !== undefined) await connection.run(nameSql, target, engine)
  })
}

/** Whether anything is recorded under a former name. A run may have the new name and still the digest of the old one. */
async function isRecorded(connection: Connection, former: TargetAlias, now: string): Promise<boolean> {
  const { target, engine, knownBy } = former
  if (engine !== undefined && !(await connection.get(hadNameSql, target, engine))) return false
  return (await connection.get(recordedSql, knownBy, target, now, target, target)) !== undefined
}

async function renameTarget(connection: Connection, former: TargetAlias, now: NamedTarget): Promise<void> {
  await connection.run(renameRunsSql, now.target, former.target)
  await connection.run(renameDigestSql, now.knownBy, former.knownBy, now.target)
  await connection.run(moveSpendingSql, now.target, former.target)
  await connection.run('DELETE FROM spending WHERE target = ?', former.target)
}
