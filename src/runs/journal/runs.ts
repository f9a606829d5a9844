import { askedLaterIn, type OperationId, vendorKindsOf } from '../../api/operations/table.js'
import type { AnswerSource, RowStatus } from '../../lookups/answer.js'
import { countBudget, scopesOf } from '../../lookups/budgets.js'
import { forEachFree, type Hold, runLost } from '../../lookups/leases.js'
import { isLeftOut, leavesOpen, lookupsMark } from '../../lookups/store.js'
import { type Driver, readNumber, type Value } from '../../storage/driver/connection.js'

/** What makes a run the same run when it is started again. */
export interface RunIdentity {
  readonly target: string
  /** Digest of everything that enters its requests. */
  readonly identityKey: string
  readonly operation: string
  /** The workspace that pays, as far as it is known. */
  readonly workspace: string
  /** Absolute path of the input. */
  readonly file: string
  /** SHA-256 of the input. */
  readonly fileHash: string
}

export interface NewRun extends RunIdentity {
  readonly id: string
  readonly profile: string
  /** The request to start it again with, as JSON. */
  readonly request: string
  /** Absolute path of the output; null for stdout. */
  readonly output: string | null
  /** Rows of the input. */
  readonly total: number
  readonly startedAt: number
}

/** What may differ when a run is resumed. */
type Continuation = Pick<NewRun, 'file' | 'output' | 'request'>

export interface Run extends NewRun {
  readonly number: number
  /** A `running` run may have been killed since; only its lock shows whether it runs. */
  readonly status: 'running' | 'stopped' | 'finished'
  /** Rows that have an answer on record. */
  readonly done: number
  /** Credits that its rows have cost so far. */
  readonly credits: number
  /** Credits held for rows whose outcome is not known. */
  readonly reserved: number
  /** When an execution of it last lost it to another machine; null where none did. That execution may not have ended. */
  readonly lostAt: number | null
  /** When its last execution ended; otherwise when it was last known to be under way. */
  readonly endedAt: number | null
}

/** Rows that are done are recorded after their answers; where the run was killed between, the answers are counted. */
const doneSql = `(SELECT max(n) FROM (SELECT runs.done AS n UNION ALL
  SELECT count(*) AS n FROM lookups WHERE run = runs.number AND state NOT IN ('asked', 'accepted', 'unknown')) AS counted)`
const columns = `number, id, known_by AS "identityKey", operation, target, workspace, profile, file,
  file_hash AS "fileHash", request, output, status, total,
  CASE WHEN status = 'running' THEN ${doneSql} ELSE done END AS done,
  coalesce((SELECT spent FROM budgets WHERE scope = 'run ' || number), 0) AS credits,
  coalesce((SELECT held FROM budgets WHERE scope = 'run ' || number), 0) AS reserved,
  lost_at AS "lostAt", started_at AS "startedAt", ended_at AS "endedAt"`
const select = `SELECT ${columns} FROM runs WHERE forgotten = 0`
const lockSql = 'SELECT 1 AS one FROM run_locks WHERE name = ? AND token = ?'
const leftOutSql = `SELECT DISTINCT error FROM lookups WHERE run = ? AND ${isLeftOut}`
const unknownSql = `SELECT 1 AS one FROM lookups WHERE run = ? AND state = 'unknown' LIMIT 1`
// A later run of the same file, with other content or by the same command, means that this one was given up.
const inTheWay = `file = ? AND operation = ? AND target = ? AND file_hash <> ?
  AND status <> 'finished'
  AND EXISTS (SELECT 1 FROM budgets WHERE scope = 'run ' || runs.number AND spent + held > 0) AND NOT EXISTS (
    SELECT 1 FROM runs AS later WHERE later.file = runs.file AND later.operation = runs.operation
      AND later.target = runs.target AND later.number > runs.number
      AND (later.known_by = runs.known_by OR later.file_hash <> runs.file_hash))`

/** Stands in the identity of a run of some rows, between that of the whole file and their number. */
export const sampleMark = '-sample-'

const countAnswersSql = `SELECT CASE WHEN state = 'unknown' THEN 'failed' ELSE state END AS status,
  CASE WHEN state = 'unknown' THEN 'outcome_unknown' WHEN state = 'failed' THEN error END AS error, count(*) AS lookups
  FROM lookups WHERE run = ? AND source <> 'duplicate' AND state NOT IN ('asked', 'accepted') GROUP BY 1, 2 ORDER BY 3 DESC`

const states = ['asked', 'accepted', 'found', 'not_found', 'invalid', 'failed', 'unknown', 'skipped']
const countStatesSql = `SELECT state, count(*) AS lookups, CAST(sum(held) AS BIGINT) AS held, CAST(sum(cost) AS BIGINT) AS cost
  FROM lookups WHERE run = ? GROUP BY state`

/** The lookups of a run in one state, with the credits that they hold and have cost. */
export interface StateCount {
  readonly state: string
  readonly lookups: number
  readonly held: number
  readonly cost: number
}

// Replies are kept as they came: with blanks after colons, or without.
const validEmail = ['', 'most_probable_']
  .flatMap((name) => ['', ' '].map((blank) => `body LIKE '%"${name}email_status":${blank}"valid"%'`))
  .join(' OR ')
const validEmailsSql = `SELECT count(*) AS lookups FROM (
    SELECT coalesce(l.body, o.body) AS body FROM lookups l
    LEFT JOIN lookups o ON o.run = l.from_run AND o.row = l.from_row
    WHERE l.run = ? AND l.state = 'found' AND l.source <> 'duplicate') AS kept WHERE ${validEmail}`

const together = `state IN ('asked', 'accepted') AND key IS NOT NULL`
const acrossSql = `SELECT coalesce(max(row), -1) AS last FROM lookups WHERE run = ? AND ${together} AND key IN (
  SELECT key FROM lookups WHERE run = ? AND row < ? AND ${together})`

export const runScope = (number: number): string => `run ${number}`

// Resuming a finished run leaves it finished. Credits held count for the latest day on which the run was known to be
// active.
const beginSql = `UPDATE runs SET status = CASE WHEN status = 'finished' THEN status ELSE 'running' END,
  file = ?, output = ?, request = ?, ended_at = CASE WHEN ended_at > ? THEN ended_at ELSE ? END
  WHERE number = ? AND fence = ? RETURNING ${columns}`

const forgetSql = `UPDATE runs SET forgotten = 1, request = '{}', status = 'stopped',
  ended_at = CASE WHEN status = 'running' THEN ? ELSE ended_at END WHERE number = ?`
const addSql = `INSERT INTO runs (id, known_by, operation, target, profile, file, file_hash, request, output, total,
    started_at, fence, workspace, status)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running') RETURNING ${columns}`
const isWriter = '(output = ? OR EXISTS (SELECT 1 FROM run_files f WHERE f.run = runs.number AND f.path = ?))'
const lastWriter = `${isWriter} ORDER BY coalesce(ended_at, started_at) DESC, number DESC LIMIT 1`
const wholeSql = 'SELECT 1 AS one FROM run_files WHERE run = ? AND path = ? AND whole = 1'
const addFileSql = `INSERT INTO run_files (run, path, whole) VALUES (?, ?, ?)
  ON CONFLICT (run, path) DO UPDATE SET whole = excluded.whole`

/** A file that a run writes. */
export interface WrittenFile {
  readonly path: string
  /** Whether it has a row for each row of the run, in their order. */
  readonly isWhole: boolean
}

export interface RunFilter {
  readonly status?: Run['status']
  /** The number of the run before which to begin. */
  readonly before?: number
  readonly limit?: number
}

/** What is recorded of a row; `origin` is the row whose answer it took. */
export interface RowLookup {
  readonly state: string
  readonly source: AnswerSource
  readonly cost: number
  readonly held: number
  readonly error: string | null
  readonly body: string | null
  readonly askedAt: number
  readonly answeredAt: number | null
  /** Id of its run; null where that is forgotten. */
  readonly originRun: string | null
  readonly originRow: number | null
  readonly originAskedAt: number | null
  readonly originAnsweredAt: number | null
  /** Email of the member of a team who paid; empty where a proxy had it stored and did not say who, null where there was none. */
  readonly payer: string | null
}

const lookupSql = `SELECT l.state, l.source, l.cost, l.held, coalesce(l.error, o.error) AS error,
  coalesce(l.body, o.body) AS body, l.asked_at AS "askedAt", l.answered_at AS "answeredAt",
  r.id AS "originRun", o.row AS "originRow", o.asked_at AS "originAskedAt", o.answered_at AS "originAnsweredAt",
  coalesce(o.payer, l.payer) AS payer
  FROM lookups l LEFT JOIN lookups o ON o.run = l.from_run AND o.row = l.from_row
  LEFT JOIN runs r ON r.number = o.run AND r.forgotten = 0 WHERE l.run = ? AND l.row = ?`

export interface AnswerCount {
  readonly status: RowStatus
  readonly error: string | null
  readonly lookups: number
}

/** The runs of this machine, or of all machines that share a database. */
export type Runs = ReturnType<typeof runsOver>

/** Returns the runs in a state database; `fenceOf` returns the fencing token of a run, where machines share the database. */
export function runsOver(driver: Driver, fenceOf: (identityKey: string) => string = () => '') {
  const one = (condition: string, ...values: Value[]) =>
    driver.read((connection) => connection.get<Run>(`${select} AND ${condition}`, ...values))
  const all = (rest: string, ...values: Value[]) =>
    driver.read((connection) => connection.all<Run>(`${select} ${rest}`, ...values))
  return {
    add: (run: NewRun) =>
      driver.transaction(async (connection) => {
        const fence = fenceOf(run.identityKey)
        if (fence !== '' && !(await connection.get(lockSql, run.identityKey, fence))) throw runLost()
        const { id, identityKey, operation, target, profile, file, fileHash, request, output, total } = run
        const values = [id, identityKey, operation, target, profile, file, fileHash, request, output, total]
        const others = [run.startedAt, fence, run.workspace]
        const made = await connection.get<Run>(addSql, ...values, ...others)
        if (!made) throw new Error('a run was not recorded')
        return made
      }),
    /** Resumes a run: it is running again, maybe from a file that was moved, maybe to another output. */
    begin: async ({ number, identityKey }: Run, going: Continuation, now: number): Promise<Run> => {
      const { file, output, request } = going
      const fence = fenceOf(identityKey)
      const values = [file, output, request, now, now, number, fence]
      // Whatever other runs record from now on sees that this one is running, so no answer of theirs is missed.
      const begun = await driver.transaction((connection) => connection.get<Run>(beginSql, ...values))
      if (!begun) throw runLost()
      return begun
    },
    addFiles: ({ number }: Pick<Run, 'number'>, files: readonly WrittenFile[]) =>
      driver.transaction(async (connection) => {
        for (const { path, isWhole } of files) await connection.run(addFileSql, number, path, Number(isWhole))
      }, runScope(number)),
    /** Whether a file that a run wrote has a row for each of its rows, in their order. */
    isWhole: async ({ number }: Pick<Run, 'number'>, path: string) =>
      (await driver.read((connection) => connection.get(wholeSql, number, path))) !== undefined,
    known: ({ identityKey, target }: Pick<RunIdentity, 'identityKey' | 'target'>) =>
      one('known_by = ? AND target = ? ORDER BY number DESC LIMIT 1', identityKey, target),
    /** Returns the newest unfinished run with paid rows that read other content of the same file, unless it was given up. */
    inTheWay: ({ file, operation, target, fileHash }: RunIdentity) =>
      one(`${inTheWay} ORDER BY number DESC LIMIT 1`, file, operation, target, fileHash),
    /** Returns the runs of samples of a file; `identity` is that of the whole file or of a sample. */
    samplesOf: ({ identityKey, target }: Pick<RunIdentity, 'identityKey' | 'target'>) => {
      const prefix = `${identityKey.split(sampleMark)[0]}${sampleMark}`
      return all('AND target = ? AND substr(known_by, 1, length(?)) = ?', target, prefix, prefix)
    },
    /** Returns the last row of the open requests for several rows that begin before a row; -1 where there are none. */
    lastSentTogether: ({ number }: Run, before: number) =>
      driver.read((reads) => readNumber(reads, acrossSql, number, number, before)),
    /** Returns the runs whose ids begin with `id`. */
    find: (id: string) => all(`AND substr(id, 1, length(?)) = ? ORDER BY number DESC`, id, id),
    /** Returns runs, newest first: all of them, or at most `limit` with a number below `before`, of one status if given. */
    list: ({ status, before, limit = Number.MAX_SAFE_INTEGER }: RunFilter = {}) =>
      all(
        `AND number < ? ${status ? 'AND status = ?' : ''} ORDER BY number DESC LIMIT ?`,
        before ?? Number.MAX_SAFE_INTEGER,
        ...(status ? [status] : []),
        limit,
      ),
    /** Returns how many lookups of a run ended in which way, the most frequent first; `error` is that of failed ones. */
    countAnswers: ({ number }: Pick<Run, 'number'>) =>
      driver.read((connection) => connection.all<AnswerCount>(countAnswersSql, number)),
    /** Counts the lookups of a run by their state, in the order in which a lookup has them. */
    countStates: async ({ number }: Pick<Run, 'number'>) => {
      const found = await driver.read((reads) => reads.all<StateCount>(countStatesSql, number))
      const counts = found.map(({ state, lookups, held, cost }) => {
        return { state, lookups: Number(lookups), held: Number(held), cost: Number(cost) }
      })
      return counts.sort((one, other) => states.indexOf(one.state) - states.indexOf(other.state))
    },
    /** Returns the runs that wrote a file, and those that read it, newest first. */
    ofFile: async (path: string) => ({
      wrote: await all(`AND ${isWriter} ORDER BY number DESC`, path, path),
      read: await all('AND file = ? ORDER BY number DESC', path),
    }),
    /** Returns what is recorded of a row, counted from 0, with the answer of the row that it took; `undefined` for nothing. */
    lookupOf: async ({ number }: Pick<Run, 'number'>, row: number): Promise<RowLookup | undefined> => {
      const found = await driver.read((reads) => reads.get<RowLookup>(lookupSql, number, row))
      if (!found) return undefined
      const { cost, held, askedAt, answeredAt, originRow, originAskedAt, originAnsweredAt } = found
      const read = (value: number | null) => (value === null ? null : Number(value))
      return {
        ...found,
        cost: Number(cost),
        held: Number(held),
        askedAt: Number(askedAt),
        answeredAt: read(answeredAt),
        originRow: read(originRow),
        originAskedAt: read(originAskedAt),
        originAnsweredAt: read(originAnsweredAt),
      }
    },
    /** Counts the lookups of a run that found a valid email address. */
    countValidEmails: ({ number }: Pick<Run, 'number'>) =>
      driver.read((connection) => readNumber(connection, validEmailsSql, number)),
    /** Whether a run is the one that wrote to a path last. */
    wroteLast: async (run: Pick<Run, 'number'> | undefined, output: string) =>
      run !== undefined && (await one(lastWriter, output, output))?.number === run.number,
    /** Whether a run has rows whose outcome is recorded as unknown. */
    hasUnknown: async ({ number }: Run) =>
      (await driver.read((connection) => connection.get(unknownSql, number))) !== undefined,
    /** Returns the data vendors that could not be asked about rows of a run that nobody else found. */
    vendorsNotAsked: async ({
      number,
      operation,
    }: Pick<Run, 'number' | 'operation'>): Promise<readonly string[]> => {
      if (vendorKindsOf({ id: operation as OperationId }).length === 0) return []
      const errors = await driver.read((connection) => connection.all<{ error: string }>(leftOutSql, number))
      return [...new Set(errors.flatMap(({ error }) => askedLaterIn(error)))]
    },
    /** Forgets a run. Its answers stay in the store, and credits that it holds count for the day of `now`. */
    forget: ({ number }: Run, now: number) =>
      driver.transaction(async (connection) => {
        await connection.run(forgetLookupsSql, number)
        // Rows of a killed run may have been paid without a recorded answer: the budget of the day still counts them.
        await connection.run(forgetSql, now, number)
      }),
  }
}

// Answers that serve other runs stay. Rows of a killed run may have been paid without an answer on record.
const forgetLookupsSql = `DELETE FROM lookups WHERE run = ? AND (source IN ('store', 'duplicate') OR identity IS NULL
  OR state NOT IN ('found', 'not_found'))`

// Rows of one that is recorded as stopped are open where the command that recorded it could not settle them. The run of single
// lookups is never over.
const mayBeUnsettled = `status = 'running' AND (known_by NOT LIKE '${lookupsMark}%' OR ${leavesOpen}) OR status = 'stopped' AND forgotten = 0
  AND EXISTS (SELECT 1 FROM budgets b WHERE b.scope = 'run ' || runs.number AND b.held > 0)`
const isUnsettled = `${mayBeUnsettled} AND target = ?
  AND EXISTS (SELECT 1 FROM lookups l WHERE l.run = runs.number AND l.state = 'asked' AND l.input IS NOT NULL)`
const leftSql = `SELECT ${columns} FROM runs WHERE ${isUnsettled} ORDER BY number`
const settlingSql = `UPDATE runs SET status = 'running' WHERE number = ? AND (${isUnsettled})`
// What was certainly not sent.
const unsent = `run = ? AND state = 'asked' AND input IS NULL`
const unsentSql = `SELECT coalesce(sum(held), 0) AS held FROM lookups WHERE ${unsent}`
const dropUnsentSql = `DELETE FROM lookups WHERE ${unsent}`
// The rows that may have been sent, the credits held for them, and the index stay as they are.
const stopSql = `UPDATE runs SET status = 'stopped', done = ${doneSql}, ended_at = (SELECT max(at) FROM (
  SELECT coalesce(ended_at, started_at) AS at UNION ALL
  SELECT max(answered_at) FROM lookups WHERE run = ?) AS heard) WHERE number = ? AND status = 'running'`

/** Whether there may be runs to settle: most commands find none, and need not open the engine. */
export const mayHaveUnsettled = async (driver: Driver): Promise<boolean> =>
  (await driver.read((reads) => reads.get(`SELECT 1 AS one FROM runs WHERE ${mayBeUnsettled} LIMIT 1`))) !==
  undefined

interface Settling {
  /** The target whose rows can be settled. */
  readonly target: string
  /** Settles what is known of the rows of a run. */
  readonly settle: (run: Run) => Promise<void>
}

/**
 * Records runs as stopped whose process was killed, as of their last sign of life, once `settle` has settled what it knows of
 * their rows under way: the credits held for the others that may have been sent count for that day, and those of rows that
 * were certainly not sent are released. Runs under way, whose lock `hold` cannot take, stay as they are.
 */
export async function stopKilled(
  driver: Driver,
  hold: Hold,
  { target, settle }: Settling = { target: '', settle: async () => {} },
): Promise<void> {
  const left = await driver.read((reads) => reads.all<Run>(leftSql, target))
  await forEachFree(left, hold, async (run) => {
    const { number } = run
    // Others wait for its rows meanwhile.
    const isLeft = await driver.transaction((c) => c.run(settlingSql, number, target), runScope(number))
    if (isLeft === 0) return
    await settle(run)
    await driver.transaction(async (c) => {
      if ((await c.run(stopSql, number, number)) === 0) return
      const held = await readNumber(c, unsentSql, number)
      if ((await c.run(dropUnsentSql, number)) > 0)
        await countBudget(c, scopesOf(number, ''), { held: -held })
    }, runScope(number))
  })
}

/** A machine that wakes from sleep sends what it had begun; after a day, none does. */
const mayWakeForMs = 86_400_000

/** Whether an execution that lost a run may still send its rows. While their replies are kept, they are paid once. */
export const mayStillSend = ({ lostAt }: Pick<Run, 'lostAt'>, now: number): boolean =>
  lostAt !== null && now - lostAt < mayWakeForMs

const overSql = `SELECT number, id, known_by AS "identityKey", lost_at AS "lostAt" FROM runs
  WHERE target = ? AND profile = ? AND lost_at <= ? AND (status = 'finished' OR forgotten = 1) ORDER BY number`
const stillSql = 'SELECT 1 AS one FROM runs WHERE number = ? AND lost_at = ?'
const settledSql = 'UPDATE runs SET lost_at = NULL WHERE number = ? AND lost_at = ?'

/** Calls `settle` with the ids of ended runs that an execution lost so long ago that it sends nothing more. `now` is real time. */
export async function settleLost(
  driver: Driver,
  { target, profile }: Pick<Run, 'target' | 'profile'>,
  { now, hold, settle }: { now: number; hold: Hold; settle: (id: string) => Promise<void> },
): Promise<void> {
  type LostRun = Pick<Run, 'number' | 'id' | 'identityKey' | 'lostAt'>
  const before = now - mayWakeForMs
  const over = await driver.read((reads) => reads.all<LostRun>(overSql, target, profile, before))
  await forEachFree(over, hold, async ({ id, number, lostAt }) => {
    // Taking the lock may have shown that the run was lost once more.
    if (!(await driver.read((reads) => reads.get(stillSql, number, lostAt)))) return
    await settle(id)
    await driver.transaction((c) => c.run(settledSql, number, lostAt), runScope(number))
  })
}
