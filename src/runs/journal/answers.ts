import Database from 'better-sqlite3'
import { parseExact, toJson } from '../../api/values/json.js'
import { placesOf, rowsPerRun, toPlace, toRunNumber } from '../../storage/database/row-places.js'
import {
  boundInteger,
  boundText,
  type Connection,
  type Driver,
  insertList,
  type Value,
} from '../../storage/driver/connection.js'
import type { AnsweredRow, JournalRow, StatedAnswer, StatedIdentities } from './journal.js'
import { type AnswerSource, isUnknown, type RowAnswer, type RowStatus } from './journal.js'

export interface KeptAnswer {
  readonly ordinal: number
  readonly answer: RowAnswer
  readonly source: AnswerSource
  /** Real time. */
  readonly answeredAt: number
}

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
const agesSql = 'SELECT place, answered_at FROM answers WHERE place IN (SELECT atom FROM json_each(?))'
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

/** Returns the answers of a run to a range of rows, in their order. */
export async function answersOf(
  connection: Connection,
  run: number,
  from: number,
  to: number,
): Promise<KeptAnswer[]> {
  const rows = await connection.all<StoredAnswerRow>(rangeSql, toPlace(run, from), toPlace(run, to))
  return rows.map((row) => keptAnswer(run, row))
}

/** How many answers are read at once. */
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
  readonly ordinal: number
  readonly identity: string
  readonly status: RowStatus
  readonly body: string | null
}

/** Answers that are read at once. */
const portion = 500

/** Returns the next answers of a run that may serve other rows, from a row on. */
export async function identifiedOf(
  connection: Connection,
  run: number,
  from: number,
): Promise<IdentifiedAnswer[]> {
  const [, end] = placesOf(run)
  const rows = await connection.all<Omit<IdentifiedAnswer, 'ordinal'> & { readonly place: number }>(
    identifiedSql,
    ...[toPlace(run, from), end, portion],
  )
  return rows.map(({ place, ...answer }) => ({ ...answer, ordinal: place - toPlace(run, 0) }))
}

async function answersAt(
  connection: Connection,
  run: number,
  ordinals: readonly number[],
): Promise<KeptAnswer[]> {
  const places = ordinals.map((ordinal) => toPlace(run, ordinal))
  const rows = await connection.all<StoredAnswerRow>(someSql, JSON.stringify(places))
  return rows.map((row) => keptAnswer(run, row))
}

const keptAnswer = (run: number, row: StoredAnswerRow): KeptAnswer => ({
  ordinal: row.place - toPlace(run, 0),
  answer: answerOf(row),
  source: row.source,
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

/** Returns the indexed answer of another row of the same run with the same lookup. */
export async function equalIn(
  connection: Connection,
  run: number,
  ordinal: number,
  hash: number,
  identity: string,
): Promise<RowAnswer | undefined> {
  const range = [...placesOf(run), toPlace(run, ordinal)]
  const row = await connection.get<StoredAnswerRow>(
    findSql,
    hash,
    connection.dialect.toStorableText(identity),
    ...range,
  )
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

/** An answer of another run, or of a single lookup. */
export interface StoredAnswer {
  readonly answer: RowAnswer
  readonly place: number
  /** Real time. */
  readonly answeredAt: number
}

/**
 * Returns the newest answer that found something for the same lookup on a target, not older than `since`; with `among` only
 * one of these runs.
 */
export async function storedAnswer(
  connection: Connection,
  { operation, target, workspace, hash, identity }: Lookup,
  since: number,
  among?: ReadonlySet<number>,
): Promise<StoredAnswer | undefined> {
  const text = connection.dialect.toStorableText(identity)
  const values = [hash, text, since, operation, target, workspace]
  const found = await connection.all<Pick<StoredAnswerRow, 'place'>>(storeSql, ...values)
  const newest = among ? found.find(({ place }) => among.has(toRunNumber(place))) : found[0]
  const row = newest && (await connection.get<StoredAnswerRow>(oneSql, newest.place))
  return row && { answer: answerOf(row), place: row.place, answeredAt: row.answered_at }
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
  const ages = await agesOf(connection, rows)
  // An answer from the store keeps its age.
  const ageOf = ({ origin, answeredAt = now }: AnsweredRow) =>
    origin === undefined ? answeredAt : (ages.get(origin) ?? now)
  await connection.dialect.insertRows(
    connection,
    answerInsert,
    rows.map((row) => valuesOf(run, row, ageOf(row))),
  )
}

async function agesOf(
  connection: Connection,
  rows: readonly AnsweredRow[],
): Promise<ReadonlyMap<number, number>> {
  const origins = rows.flatMap(({ origin }) => (origin === undefined ? [] : [origin]))
  if (origins.length === 0) return new Map()
  const aged = await connection.all<Pick<StoredAnswerRow, 'place' | 'answered_at'>>(
    agesSql,
    JSON.stringify(origins),
  )
  return new Map(aged.map((row) => [row.place, row.answered_at]))
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

/** An entry of the index of answers. */
export interface Indexed {
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
  readonly #run: number
  readonly #window: number
  #recent = new Map<string, Indexed & { readonly ordinal: number }>()

  constructor(run: number, window = 16_384) {
    this.#run = run
    this.#window = window
  }

  /** Returns the answer to an equal row of the run; with `retryUnknown` none whose outcome is unknown. */
  async find(connection: Connection, row: JournalRow, retryUnknown: boolean): Promise<RowAnswer | undefined> {
    const answer = await this.#find(connection, row)
    return answer && retryUnknown && isUnknown(answer) ? undefined : answer
  }

  async #find(
    connection: Connection,
    { ordinal, hash, identity }: JournalRow,
  ): Promise<RowAnswer | undefined> {
    if (hash === undefined || identity === undefined) return undefined
    const recent = this.#recent.get(identity)
    if (!recent || recent.ordinal === ordinal) return equalIn(connection, this.#run, ordinal, hash, identity)
    const [kept] = await answersOf(connection, this.#run, recent.ordinal, recent.ordinal + 1)
    return kept?.answer
  }

  /** Whether the waiting answers have to be indexed before these are added. */
  isFullBefore(rows: readonly AnsweredRow[]): boolean {
    return this.#recent.size + rows.length > this.#window
  }

  /** Indexes the waiting answers. */
  index(connection: Connection): Promise<void> {
    return indexAnswers(connection, [...this.#recent.values()])
  }

  /** Adds rows whose answers are recorded; `indexed` says that those before them were indexed. */
  add(rows: readonly AnsweredRow[], indexed: boolean): void {
    if (indexed) this.#recent = new Map()
    for (const { ordinal, identity, hash, repeats, answer } of rows)
      if (repeats && servesEqual(answer) && identity !== undefined && hash !== undefined)
        this.#recent.set(identity, { hash, ordinal, place: toPlace(this.#run, ordinal) })
  }
}

const cacheKb = 16_384

/** Opens an empty database in a temporary file without a name, which is gone when closed. */
export function openTemporary(table: string) {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  database.exec(`${table}; BEGIN`)
  return database
}

/** Opens an empty set of numbers in a temporary file. */
export function openSeenNumbers() {
  const database = openTemporary('CREATE TABLE seen (number INTEGER PRIMARY KEY) WITHOUT ROWID')
  const insert = database.prepare('INSERT INTO seen (number) VALUES (?) ON CONFLICT DO NOTHING')
  const select = database.prepare('SELECT 1 FROM seen WHERE number = ?')
  return {
    has: (number: number) => select.get(number) !== undefined,
    /** Adds a number. Returns whether it is new. */
    isNew: (number: number) => insert.run(number).changes === 1,
    close: () => void database.close(),
  }
}

/** What the answers of a run state, in a temporary file that is made for the first identity. */
export class StatedInRun implements StatedIdentities {
  #open: ReturnType<typeof openStated> | undefined

  constructor(
    private readonly driver: Driver,
    private readonly run: number,
  ) {}

  add(hash: number, ordinal: number): void {
    this.#open ??= openStated()
    this.#open.insert.run(hash, ordinal)
  }

  find(hash: number): number | undefined {
    return this.#open?.select.get(hash)?.ordinal
  }

  async answers(ordinals: readonly number[]): Promise<ReadonlyMap<number, StatedAnswer>> {
    const kept = await this.driver.read((connection) => answersAt(connection, this.run, ordinals))
    return new Map(kept.map(({ ordinal, answer, answeredAt }) => [ordinal, { answer, answeredAt }]))
  }

  close(): void {
    this.#open?.close()
    this.#open = undefined
  }
}

function openStated() {
  const database = openTemporary(
    'CREATE TABLE stated (hash INTEGER PRIMARY KEY, ordinal INTEGER) WITHOUT ROWID',
  )
  return {
    insert: database.prepare<[number, number]>('INSERT INTO stated VALUES (?, ?) ON CONFLICT DO NOTHING'),
    select: database.prepare<[number], { ordinal: number }>('SELECT ordinal FROM stated WHERE hash = ?'),
    close: () => void database.close(),
  }
}
