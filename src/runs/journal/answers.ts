import Database from 'better-sqlite3'
import type { Input, RunRow } from '../../api/calls/caller.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { once } from '../../api/values/objects.js'
import {
  boundInteger,
  boundText,
  type Connection,
  type Driver,
  insertList,
  placesOf,
  portionsOf,
  rowsPerRun,
  toPlace,
  toRunNumber,
  type Value,
} from '../../storage/driver/connection.js'
import {
  type AnsweredRow,
  type AnswerSource,
  type AskedRow,
  isUnknown,
  type JournalRow,
  type RowAnswer,
  type RowStatus,
} from './journal.js'

export type KeptAnswer = ReturnType<typeof keptAnswer>

interface StoredAnswerRow {
  readonly place: number
  readonly status: RowStatus
  readonly error: string | null
  readonly body: string | null
  readonly credits: number
  readonly source: AnswerSource
  readonly answered_at: number
}

const columns = `a.place, a.status, a.error, coalesce(a.body, o.body) AS body, a.credits, a.source, a.answered_at
FROM answers a LEFT JOIN answers o ON o.place = a.origin`
const rangeSql = `SELECT ${columns} WHERE a.place >= ${boundInteger} AND a.place < ${boundInteger} ORDER BY a.place`
const identifiedSql = `SELECT a.place, a.identity, a.status, coalesce(a.body, o.body) AS body
FROM answers a LEFT JOIN answers o ON o.place = a.origin
WHERE a.place >= ${boundInteger} AND a.place < ${boundInteger} AND a.identity IS NOT NULL ORDER BY a.place LIMIT ${boundInteger}`
// Without an identity an answer serves its own run only: one that a budget cut short, one of unknown outcome, or one about
// an erased person. Of those with a hash, only the unknown ones failed: they serve where there is no other.
const findSql = `SELECT ${columns} JOIN places p ON p.place = a.place
WHERE p.hash = ${boundInteger} AND (a.identity = ${boundText} OR a.identity IS NULL AND a.hash = p.hash)
AND a.place >= ${boundInteger} AND a.place < ${boundInteger} AND a.place <> ${boundInteger}
ORDER BY CASE WHEN a.status = 'failed' THEN 1 ELSE 0 END, a.place LIMIT 1`
// Several runs may have made the same lookup: only the answer that is taken is read whole. What was not found costs nothing,
// so the target is asked again.
const storeSql = `SELECT a.place FROM places p JOIN answers a ON a.place = p.place
JOIN runs r ON r.number = a.place / ${rowsPerRun}
WHERE p.hash = ${boundInteger} AND a.identity = ${boundText} AND a.answered_at >= ${boundInteger} AND a.status = 'found'
AND r.operation = ${boundText} AND r.target = ${boundText} AND (r.workspace = ${boundText} OR r.workspace = '')
ORDER BY a.answered_at DESC`
const oneSql = `SELECT ${columns} WHERE a.place = ${boundInteger}`
const answerTypes = {
  ...({
    place: 'BIGINT',
    hash: 'BIGINT',
    identity: 'TEXT',
    status: 'TEXT',
    error: 'TEXT',
    body: 'TEXT',
  } as const),
  ...({ credits: 'BIGINT', source: 'TEXT', origin: 'BIGINT', answered_at: 'BIGINT' } as const),
}
const [, ...replaced] = Object.keys(answerTypes).map((column) => `${column} = excluded.${column}`)
const answerInsert = insertList(
  'answers',
  answerTypes,
  `ON CONFLICT (place) DO UPDATE SET ${replaced.join(', ')}`,
)
const someSql = `SELECT ${columns} WHERE a.place IN (SELECT atom FROM json_each(?))`
const hashesSql = 'SELECT DISTINCT hash FROM places WHERE hash IN (SELECT atom FROM json_each(?))'
const nextHashesSql = `
SELECT place, hash FROM answers WHERE place > ? AND place < ? AND hash IS NOT NULL ORDER BY place LIMIT ?`
const indexInsert = insertList('places', { hash: 'BIGINT', place: 'BIGINT' }, 'ON CONFLICT DO NOTHING')

const answerOf = ({ status, error, body, credits }: StoredAnswerRow): RowAnswer => ({
  status,
  error,
  body: body === null ? undefined : parseExact(body),
  credits,
})

export async function answersOf(
  connection: Connection,
  run: number,
  from: number,
  to: number,
): Promise<KeptAnswer[]> {
  const rows = await connection.all<StoredAnswerRow>(rangeSql, toPlace(run, from), toPlace(run, to))
  return rows.map((row) => keptAnswer(run, row))
}

/** Answers that are read at once. */
const atOnce = 256

/** Returns the sum of a number over the bodies of a run's own answers, of rows before an ordinal. */
export async function sumOfAnswers(
  database: Driver,
  run: number,
  before: number,
  count: (body: unknown) => number,
): Promise<number> {
  let sum = 0
  for (let from = 0; from < before; from += atOnce) {
    const answers = await database.read((reads) => answersOf(reads, run, from, from + atOnce))
    for (const { answer, source } of answers) if (source === 'live') sum += count(answer.body)
  }
  return sum
}

interface IdentifiedAnswer {
  readonly place: number
  readonly identity: string
  readonly status: RowStatus
  readonly body: string | null
}

/** Yields the answers of a run that may serve other rows. */
export async function* identifiedOf(driver: Driver, run: number) {
  const [begin, end] = placesOf(run)
  const read = (last?: IdentifiedAnswer) =>
    driver.read((reads) =>
      reads.all<IdentifiedAnswer>(identifiedSql, last ? last.place + 1 : begin, end, atOnce),
    )
  for await (const answers of portionsOf(atOnce, read)) yield* answers
}

const keptAnswer = (run: number, row: StoredAnswerRow) => ({
  ordinal: row.place - toPlace(run, 0),
  answer: answerOf(row),
  source: row.source,
  /** Real time. */
  answeredAt: row.answered_at,
})

/** Returns the ordinal behind the last row of a run that has an answer. */
export async function answeredUpTo(connection: Connection, run: number): Promise<number> {
  const last = await connection.get<{ place: number | null }>(
    'SELECT max(place) AS place FROM answers WHERE place >= ? AND place < ?',
    ...placesOf(run),
  )
  return last?.place == null ? 0 : last.place - toPlace(run, 0) + 1
}

export async function equalIn(
  connection: Connection,
  run: number,
  ordinal: number,
  hash: number,
  identity: string,
): Promise<RowAnswer | undefined> {
  const range = [...placesOf(run), toPlace(run, ordinal)]
  const text = connection.dialect.toStorableText(identity)
  const row = await connection.get<StoredAnswerRow>(findSql, hash, text, ...range)
  return row && answerOf(row)
}

/** What is looked up: the identity of a row, with its hash. */
export interface Lookup {
  readonly operation: string
  readonly target: string
  readonly workspace: string
  readonly identity: string
  readonly hash: number
}

/** Returns the newest answer since a moment that found something for the same lookup; with `among` only one of these runs. */
export async function storedAnswer(
  connection: Connection,
  { operation, target, workspace, hash, identity }: Lookup,
  since: number,
  among?: ReadonlySet<number>,
) {
  const text = connection.dialect.toStorableText(identity)
  const values = [hash, text, since, operation, target, workspace]
  const found = await connection.all<Pick<StoredAnswerRow, 'place'>>(storeSql, ...values)
  const newest = among ? found.find(({ place }) => among.has(toRunNumber(place))) : found[0]
  const row = newest && (await connection.get<StoredAnswerRow>(oneSql, newest.place))
  if (!row) return undefined
  return {
    answer: answerOf(row),
    place: row.place,
    /** Real time. */
    answeredAt: row.answered_at,
  }
}

export async function indexedHashes(
  connection: Connection,
  rows: readonly Pick<JournalRow, 'hash'>[],
): Promise<ReadonlySet<number | undefined>> {
  const hashes = rows.flatMap(({ hash }) => (hash === undefined ? [] : [hash]))
  const found = await connection.all<{ hash: number }>(hashesSql, JSON.stringify(hashes))
  return new Set(found.map(({ hash }) => hash))
}

/** Whether an answer serves equal rows; a failed lookup is repeated. */
const isReusable = ({ status }: RowAnswer): boolean => status === 'found' || status === 'not_found'

/** Whether equal rows of the same run take an answer; also one of unknown outcome, which may have been paid. */
const servesEqual = (answer: RowAnswer): boolean => isReusable(answer) || isUnknown(answer)

/** Records answers to rows of a run. On a server they are one statement, which only the end of the transaction waits for. */
export async function keepAnswers(
  connection: Connection,
  run: number,
  rows: readonly AnsweredRow[],
  now: number,
): Promise<void> {
  await connection.dialect.insertRows(
    connection,
    answerInsert,
    rows.map((row) => valuesOf(run, row, row.answeredAt ?? now)),
  )
}

function valuesOf(
  run: number,
  { ordinal, hash, identity, repeats, answer, source, origin }: AnsweredRow,
  answeredAt: number,
): Value[] {
  const { status, error, body, text, credits } = answer
  return [
    toPlace(run, ordinal),
    // Other runs find an answer from the store at its origin.
    servesEqual(answer) && (origin === undefined || repeats) ? (hash ?? null) : null,
    isReusable(answer) && !answer.isCut ? (identity ?? null) : null,
    status,
    error,
    // An answer from the store only points to its origin.
    body === undefined || origin !== undefined ? null : (text ?? toJson(body)),
    source === 'live' ? credits : 0,
    source,
    origin ?? null,
    answeredAt,
  ]
}

interface Indexed {
  readonly hash: number
  readonly place: number
}

/** Indexes answers in the order of their hashes: random places would cost five times more. */
export async function indexAnswers(connection: Connection, answers: readonly Indexed[]): Promise<void> {
  // Processes that index the same answers do so in the same order, so none waits for the other twice.
  const sorted = answers.toSorted((one, other) => one.hash - other.hash || one.place - other.place)
  await connection.dialect.insertRows(
    connection,
    indexInsert,
    sorted.map(({ hash, place }) => [hash, place]),
  )
}

// Whoever looked for stored answers meanwhile has those of a run indexed from then on.
const isSharedSql = `SELECT 1 AS one FROM runs
  WHERE status = 'running' AND operation = ? AND target = ? AND (number <> ? OR indexed > 1) LIMIT 1`

/** Lets single lookups, and other runs that are under way, find answers of a run. */
export async function indexShared(
  connection: Connection,
  { number, operation, target }: Pick<TurnTaker, 'operation' | 'target'> & { readonly number: number },
  rows: readonly AnsweredRow[],
): Promise<void> {
  if (!(await connection.get(isSharedSql, operation, target, number))) return
  const found = rows.filter(({ answer, origin }) => answer.status === 'found' && origin === undefined)
  const indexed = found.flatMap(({ hash, ordinal }) =>
    hash === undefined ? [] : [{ hash, place: toPlace(number, ordinal) }],
  )
  await indexAnswers(connection, indexed)
}

const indexedAtOnce = 16_384

/** Indexes the next answers of a run behind a place. Returns the last place; `undefined` when there are no more. */
export async function indexNext(
  connection: Connection,
  run: number,
  after: number,
): Promise<number | undefined> {
  const rows = await connection.all<Indexed>(nextHashesSql, after, toPlace(run + 1, 0), indexedAtOnce)
  await indexAnswers(connection, rows)
  return rows.at(-1)?.place
}

/** Deletes answers that are of no use without their run: those from the store, and those that serve no other run. */
export async function forgetAnswers(connection: Connection, run: number): Promise<void> {
  await connection.run(
    'DELETE FROM answers WHERE place >= ? AND place < ? AND (origin IS NOT NULL OR identity IS NULL)',
    ...placesOf(run),
  )
}

/** Finds answers to equal rows. The newest answers wait in memory and are indexed in large portions. */
export class DuplicateAnswers {
  #recent = new Map<string, Indexed & { readonly ordinal: number }>()

  constructor(
    private readonly run: number,
    private readonly window = 16_384,
  ) {}

  /** Returns the answer to an equal row of the run; with `retryUnknown` none whose outcome is unknown. */
  async find(connection: Connection, row: JournalRow, retryUnknown: boolean): Promise<RowAnswer | undefined> {
    const { ordinal, hash, identity } = row
    if (hash === undefined || identity === undefined) return undefined
    const recent = this.#recent.get(identity)
    const answer =
      !recent || recent.ordinal === ordinal
        ? await equalIn(connection, this.run, ordinal, hash, identity)
        : (await answersOf(connection, this.run, recent.ordinal, recent.ordinal + 1))[0]?.answer
    return answer && retryUnknown && isUnknown(answer) ? undefined : answer
  }

  /** Whether the answer to an equal row waits to be indexed. */
  isRecent({ identity }: Pick<JournalRow, 'identity'>): boolean {
    return identity !== undefined && this.#recent.has(identity)
  }

  /** Whether the waiting answers have to be indexed before these are added. */
  isFullBefore(rows: readonly AnsweredRow[]): boolean {
    return this.#recent.size + rows.length > this.window
  }

  index(connection: Connection): Promise<void> {
    return indexAnswers(connection, [...this.#recent.values()])
  }

  /** Adds rows whose answers are recorded; `indexed` says that those before them were indexed. */
  add(rows: readonly AnsweredRow[], indexed: boolean): void {
    if (indexed) this.#recent = new Map()
    for (const { ordinal, identity, hash, repeats, answer } of rows)
      if (repeats && servesEqual(answer) && identity !== undefined && hash !== undefined)
        this.#recent.set(identity, { hash, ordinal, place: toPlace(this.run, ordinal) })
  }
}

const cacheKb = 16_384

/** Opens an empty map of numbers in a temporary file without a name, which is gone when closed. */
export function openNumbers() {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  database.exec('CREATE TABLE numbers (number INTEGER PRIMARY KEY, value INTEGER) WITHOUT ROWID; BEGIN')
  const insert = database.prepare('INSERT INTO numbers VALUES (?, ?) ON CONFLICT DO NOTHING')
  const select = database.prepare<[number], number>('SELECT value FROM numbers WHERE number = ?').pluck()
  return {
    /** Adds a number, which keeps its first value. Returns whether it is new. */
    add: (number: number, value = 0) => insert.run(number, value).changes === 1,
    get: (number: number) => select.get(number),
    close: () => void database.close(),
  }
}

/** By hash, identities that the answers of a run state, and their rows: the newest in memory, others in a temporary file. */
export class StatedInRun {
  #open: ReturnType<typeof openNumbers> | undefined
  readonly #recent = new Map<number, number>()

  constructor(
    private readonly driver: Driver,
    private readonly run: number,
  ) {}

  add(hash: number, ordinal: number): void {
    this.#recent.set(hash, ordinal)
    if (this.#recent.size < recentStated) return
    this.#open ??= openNumbers()
    // In their order, neighbours are on the same page.
    for (const entry of [...this.#recent].sort(([one], [other]) => one - other)) this.#open.add(...entry)
    this.#recent.clear()
  }

  /** Returns the first row whose answer states an identity. */
  find(hash: number): number | undefined {
    return this.#recent.get(hash) ?? this.#open?.get(hash)
  }

  async answers(ordinals: readonly number[]): Promise<ReadonlyMap<number, KeptAnswer>> {
    const places = JSON.stringify(ordinals.map((ordinal) => toPlace(this.run, ordinal)))
    const rows = await this.driver.read((reads) => reads.all<StoredAnswerRow>(someSql, places))
    return new Map(rows.map((row) => keptAnswer(this.run, row)).map((one) => [one.ordinal, one]))
  }

  close(): void {
    this.#recent.clear()
    this.#open?.close()
    this.#open = undefined
  }
}

const recentStated = 16_384

/** How often the answer is looked for that somebody else has under way, in milliseconds. */
export const turnPollMs = 50

interface TurnRow {
  readonly ordinal: number
  /** Hash of its identity; `undefined` for a lookup without equals. */
  readonly hash: number | undefined
  readonly input: Input
}

/** A request that was sent by a run or lookup that was killed: its key brings the reply that was paid for. */
export interface LeftTurn {
  readonly key: string
  /** The row of the run; `undefined` for a single lookup. */
  readonly row: RunRow | undefined
  /** What was sent, maybe in another spelling. */
  readonly input: Input
}

/** Which of the wanted rows others are asking, and what killed runs and lookups left of the rest. */
interface TakenTurns {
  /** Ordinals of rows whose lookup is under way elsewhere. */
  readonly busy: ReadonlySet<number>
  /** By ordinal, the same lookup of a killed run or of a killed command. */
  readonly left: ReadonlyMap<number, LeftTurn>
  /** Number of the record of the rows that were taken; `undefined` where none was. */
  readonly record: number | undefined
}

/** The run, or the single lookup, that takes turns. */
interface TurnTaker extends Pick<Lookup, 'operation' | 'target' | 'workspace'> {
  readonly id: string
  /** The name of its lock: as long as it is held, its rows are under way. */
  readonly identityKey: string
}

export interface TurnOptions {
  /** Whether a process holds the lock with this name. */
  readonly isAlive: (holder: string) => Promise<boolean>
  /** Whether rows of killed runs are sent again under their keys. */
  readonly takesKeys: boolean
  /** Real time before which replies are too old to be used. */
  readonly notBefore: number
}

/** In records of earlier versions, the hash of the request stands in its place. */
type Call = readonly [hash: number, ordinal: number, input: Input | number]

interface TurnRecord {
  readonly number: number
  readonly run: string
  readonly holder: string
  readonly calls: string
  readonly taken_at: number
  /** Number of the run; null for a single lookup. */
  readonly place: number | null
}

const othersSql = `SELECT t.number, t.run, t.holder, t.calls, t.taken_at, r.number AS place
  FROM turns t LEFT JOIN runs r ON r.id = t.run
  WHERE t.operation = ? AND t.target = ? AND (t.workspace = ? OR t.workspace = '') AND t.run <> ? ORDER BY t.number`
const addSql = `INSERT INTO turns (operation, target, workspace, run, holder, calls, taken_at)
  VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number`
const answeredSql = `SELECT place, hash FROM answers
  WHERE place IN (SELECT atom FROM json_each(?)) AND status IN ('found', 'not_found')`

/**
 * Takes the turns of rows before they are sent, so that equal rows of other runs, and single lookups, wait for their answers.
 * Nobody waits for a turn while holding one that is not used, so that no two wait for each other.
 */
export async function takeTurns(
  driver: Driver,
  { id, identityKey, operation, target, workspace }: TurnTaker,
  rows: readonly TurnRow[],
  { isAlive, notBefore, takesKeys }: TurnOptions,
  now: number,
): Promise<TakenTurns> {
  // By record, because a lock may be held again: what is under way then is in new records.
  const alive = new Map<number, boolean>()
  for (;;) {
    const unknown = new Map<number, string>()
    const taken = await driver.transaction(async (connection) => {
      const others = await connection.all<TurnRecord>(othersSql, operation, target, workspace, id)
      const { out, left } = compare(rows, others, ({ number, holder }) => {
        const known = holder === '' ? false : alive.get(number)
        if (known === undefined) unknown.set(number, holder)
        return known ?? true
      })
      if (unknown.size > 0) return { busy: new Set<number>(), left: new Map(), record: undefined }
      const busy = await withoutAnswered(connection, out)
      const calls = rows.flatMap(({ hash, ordinal, input }): Call[] =>
        hash === undefined || busy.has(ordinal) ? [] : [[hash, ordinal, input]],
      )
      const usable = takesKeys ? left.filter(([, turn]) => turn.at >= notBefore) : []
      const found = { busy, left: new Map(usable), record: undefined }
      if (calls.length === 0) return found
      const values = [operation, target, workspace, id, identityKey, toJson(calls), now]
      const made = await connection.get<{ number: number }>(addSql, ...values)
      return { ...found, record: made?.number }
    }, `turns ${operation} ${target}`)
    if (unknown.size === 0) return taken
    for (const [number, holder] of unknown) alive.set(number, await isAlive(holder))
  }
}

/** A row that is out elsewhere, with the place of its answer there; null for a single lookup. */
type OutRow = readonly [ordinal: number, place: number | null]

function compare(
  rows: readonly TurnRow[],
  others: readonly TurnRecord[],
  isAlive: (record: TurnRecord) => boolean,
) {
  const out: OutRow[] = []
  const left = new Map<number, LeftTurn & { readonly at: number }>()
  const wanted = new Map(others.length > 0 ? rows.map((row) => [row.hash, row]) : [])
  for (const record of others) {
    // Reading inputs with all the digits of their numbers is slow, and hardly any is wanted.
    const isWanted = ([hash]: Call) => wanted.has(hash)
    if (!(JSON.parse(record.calls) as Call[]).some(isWanted)) continue
    for (const [hash, ordinal, input] of parseExact(record.calls) as Call[]) {
      const row = wanted.get(hash)
      if (!row) continue
      const { place, run, taken_at: at } = record
      if (isAlive(record)) out.push([row.ordinal, place === null ? null : toPlace(place, ordinal)])
      // Later ones of the same lookup used the key of the first, too.
      else if (typeof input === 'object' && !left.has(row.ordinal))
        left.set(row.ordinal, { ...keyOf(run, place === null ? undefined : ordinal), input, at })
    }
  }
  return { out, left: [...left] }
}

function keyOf(run: string, ordinal: number | undefined): Pick<LeftTurn, 'key' | 'row'> {
  if (ordinal === undefined) return { key: run, row: undefined }
  return { key: `${run}-${ordinal}`, row: { run, ordinal, fresh: false } }
}

/**
 * Returns the ordinals of rows that are out and have no answer there yet. The others are in the record of a portion that is
 * still under way: their answers are indexed, so that they are found.
 */
async function withoutAnswered(connection: Connection, out: readonly OutRow[]): Promise<ReadonlySet<number>> {
  const places = out.flatMap(([, place]) => (place === null ? [] : [place]))
  if (places.length === 0) return new Set(out.map(([ordinal]) => ordinal))
  const answered = await connection.all<Indexed | { place: number; hash: null }>(answeredSql, toJson(places))
  await indexAnswers(
    connection,
    answered.filter((one): one is Indexed => one.hash !== null),
  )
  const known = new Set<number | null>(answered.map(({ place }) => place))
  return new Set(out.filter(([, place]) => !known.has(place)).map(([ordinal]) => ordinal))
}

/** Marks the records of a lock as nobody's: whoever holds it now did not take them. */
export const releaseHolder = async (driver: Driver, identityKey: string): Promise<void> => {
  await driver.transaction((c) => c.run(`UPDATE turns SET holder = '' WHERE holder = ?`, identityKey))
}

export class RunTurns {
  /** By ordinal, the number of the record that a row is in. */
  readonly #records = new Map<number, number>()
  /** By record, the number of its rows without an answer. */
  readonly #open = new Map<number, number>()
  readonly #left = new Map<number, LeftTurn>()
  /** Records without open rows, which are deleted with the next answers. */
  #free: number[] = []
  /** What an earlier part of this run, or another run with its lock, had under way is nobody's now. */
  readonly #resume = once(() => releaseHolder(this.driver, this.run.identityKey))

  constructor(
    private readonly driver: Driver,
    private readonly run: TurnTaker & { readonly number: number },
    private readonly options: TurnOptions & { readonly now: () => number },
  ) {}

  /** Takes the turns of rows. Returns the ordinals of those that others have under way; `undefined` without any. */
  async take(rows: readonly AskedRow[]): Promise<ReadonlySet<number> | undefined> {
    if (rows.length === 0) return undefined
    await this.#resume()
    const { options } = this
    const { busy, left, record } = await takeTurns(this.driver, this.run, rows, options, options.now())
    for (const [ordinal, turn] of left) this.#left.set(ordinal, turn)
    if (record !== undefined) {
      const taken = rows.filter(({ ordinal, hash }) => hash !== undefined && !busy.has(ordinal))
      for (const { ordinal } of taken) this.#records.set(ordinal, record)
      this.#open.set(record, taken.length)
    }
    return busy.size > 0 ? busy : undefined
  }

  /** Returns the same lookup of a killed run or command; its key brings the reply that was paid for. */
  leftOf(ordinal: number): LeftTurn | undefined {
    return this.#left.get(ordinal)
  }

  /** Notes rows that are not sent, and whose answers are not recorded. */
  release(rows: readonly JournalRow[]): void {
    this.#free.push(...this.#close(rows))
  }

  overAfter(rows: readonly AnsweredRow[]): readonly number[] {
    const over = [...this.#free, ...this.#close(rows)]
    this.#free = []
    return over
  }

  #close(rows: readonly JournalRow[]): number[] {
    const over: number[] = []
    for (const { ordinal } of rows) {
      const record = this.#records.get(ordinal)
      this.#left.delete(ordinal)
      if (record === undefined) continue
      this.#records.delete(ordinal)
      const open = (this.#open.get(record) ?? 1) - 1
      if (open > 0) this.#open.set(record, open)
      else if (this.#open.delete(record)) over.push(record)
    }
    return over
  }

  /** Deletes records whose rows are all answered. */
  async dropOver(connection: Connection, over: readonly number[]): Promise<void> {
    for (const number of over) await connection.run('DELETE FROM turns WHERE number = ?', number)
  }

  async drop(connection: Connection): Promise<void> {
    await connection.run('DELETE FROM turns WHERE run = ?', this.run.id)
  }
}
