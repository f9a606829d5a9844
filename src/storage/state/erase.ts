import { parseBody, parseExact, toJson } from '../../api/values/json.js'
import type { Forgotten } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../driver/connection.js'
import { runAt } from '../engine/row-place.js'
import { promoteAll } from './forwarding.js'
import { rememberedMs } from './webhook-inbox.js'

/** What this machine remembered of somebody and is gone. */
export interface ForgottenState {
  readonly events: number
  readonly answers: number
  /** Input and output of the runs whose answers told of them; null for stdout. */
  readonly runs: readonly { readonly file: string; readonly output: string | null }[]
}

/** What is told of a row whose answer told of somebody who was forgotten. */
export const forgottenRow = { status: 'skipped', error: 'forgotten' } as const

/**
 * Takes somebody out of the received events and of the answers of runs; with `dryRun` it only counts. An event goes
 * whole, since it is kept as it was signed. A row keeps what it cost and the hash of what it asked for: it is not paid
 * for again when its run goes on, and neither are rows of that run that are equal.
 */
export async function forgetInState(
  driver: Driver,
  who: Forgotten,
  now: number,
  dryRun: boolean,
): Promise<ForgottenState> {
  const step: Step = dryRun ? (work) => driver.read(work) : (work) => driver.transaction(work)
  const events = await sweep(
    step,
    eventsSql,
    (row: EventRow) => row.seq,
    async (connection, rows) => {
      const theirs = rows.filter(({ body }) => who.isIn(parsed(body)))
      if (!dryRun) for (const { seq } of theirs) await forgetEvent(connection, seq, now)
      return theirs.map(({ seq }) => seq)
    },
  )
  if (!dryRun && events.length > 0) await driver.transaction((connection) => promoteAll(connection, now))
  const told = await sweep(
    step,
    answersSql,
    (row: AnswerRow) => row.place,
    async (connection, rows) => {
      const theirs = rows.flatMap((row) => forgottenAnswer(who, row))
      if (!dryRun) for (const { place, left } of theirs) await forgetAnswer(connection, place, left)
      return theirs
    },
  )
  const whole = told.filter(({ left }) => left === undefined).map(({ place }) => place)
  const taken = await step((connection) => takenFrom(connection, whole))
  if (!dryRun) {
    for (const place of taken) await step((connection) => forgetAnswer(connection, place))
    await step((connection) => forgetTyped(connection, who))
  }
  const places = [...new Set([...told.map(({ place }) => place), ...taken])]
  return {
    events: events.length,
    answers: places.length,
    runs: await driver.read((connection) => runsOf(connection, places)),
  }
}

type Step = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>

const rowsAtOnce = 500
const eventsSql = 'SELECT seq, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?'
const answersSql = `SELECT place, identity, error, body FROM answers WHERE place > ? AND
  (identity IS NOT NULL OR error IS NOT NULL OR body IS NOT NULL) ORDER BY place LIMIT ?`

interface EventRow {
  readonly seq: number
  readonly body: string
}

interface AnswerRow {
  readonly place: number
  readonly identity: string | null
  readonly error: string | null
  readonly body: string | null
}

/** Goes through rows, each portion in a step of its own; answers what came of them. */
async function sweep<Row, Found>(
  step: Step,
  sql: string,
  placeIn: (row: Row) => number,
  forget: (connection: Connection, rows: readonly Row[]) => Promise<Found[]>,
): Promise<Found[]> {
  const all: Found[] = []
  for (let after: number | undefined = -1; after !== undefined; ) {
    const from: number = after
    const { found, last } = await step(async (connection) => {
      const rows = await connection.all<Row>(sql, from, rowsAtOnce)
      return { found: await forget(connection, rows), last: rows.at(-1) }
    })
    all.push(...found)
    after = last === undefined ? undefined : placeIn(last)
  }
  return all
}

/** A body as a value; one that is no JSON is looked through as text. */
function parsed(body: string): unknown {
  try {
    return parseBody(body)
  } catch {
    return body
  }
}

/** Its id is known for as long as its sender may send it again. */
async function forgetEvent(connection: Connection, seq: number, now: number): Promise<void> {
  await connection.run(
    `INSERT INTO gone_events (id, path, received_at) SELECT id, path, received_at FROM events
     WHERE seq = ? AND received_at >= ? ON CONFLICT DO NOTHING`,
    ...[seq, now - rememberedMs],
  )
  await connection.run('DELETE FROM events WHERE seq = ?', seq)
}

/** An answer that told of them, and what is left of its body. */
interface Told {
  readonly place: number
  readonly left: string | undefined
}

function forgottenAnswer(who: Forgotten, { place, identity, error, body }: AnswerRow): Told[] {
  if (who.isIn(identity) || who.isIn(error)) return [{ place, left: undefined }]
  if (body === null) return []
  const value = parseExact(body)
  if (!who.isIn(value)) return []
  return [{ place, left: who.isAbout(value) ? undefined : toJson(who.without(value)) }]
}

async function forgetAnswer(connection: Connection, place: number, left?: string): Promise<void> {
  if (left !== undefined) await connection.run('UPDATE answers SET body = ? WHERE place = ?', left, place)
  else
    await connection.run(
      'UPDATE answers SET status = ?, error = ?, identity = NULL, body = NULL, origin = NULL WHERE place = ?',
      ...[forgottenRow.status, forgottenRow.error, place],
    )
}

/** Rows of other runs that took one of these answers. */
async function takenFrom(connection: Connection, places: readonly number[]): Promise<number[]> {
  if (places.length === 0) return []
  const sql = 'SELECT place FROM answers WHERE origin IN (SELECT atom FROM json_each(?))'
  return (await connection.all<{ place: number }>(sql, JSON.stringify(places))).map(({ place }) => place)
}

async function runsOf(connection: Connection, places: readonly number[]) {
  const numbers = [...new Set(places.map(runAt))]
  const sql = 'SELECT file, output FROM runs WHERE number IN (SELECT atom FROM json_each(?)) ORDER BY number'
  return await connection.all<{ file: string; output: string | null }>(sql, JSON.stringify(numbers))
}

interface Typed {
  readonly id: string
  readonly text: string
}

/** What was typed for a run, and the keys of calls whose outcome is open. */
async function forgetTyped(connection: Connection, who: Forgotten): Promise<void> {
  for (const { id, text } of await connection.all<Typed>('SELECT id, request AS text FROM runs')) {
    const request = parsed(text)
    const left = who.without(request)
    if (left !== request) await connection.run('UPDATE runs SET request = ? WHERE id = ?', toJson(left), id)
  }
  const keys = 'SELECT fingerprint AS id, idempotency_key AS text FROM open_calls'
  for (const { id, text } of await connection.all<Typed>(keys))
    if (who.isIn(text)) await connection.run('DELETE FROM open_calls WHERE fingerprint = ?', id)
}
