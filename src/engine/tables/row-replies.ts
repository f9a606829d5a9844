import type { RunRow } from '../../api/calls/caller.js'
import { placesOf, rowsPerRun, toPlace } from '../../storage/database/row-places.js'
import {
  type Awaitable,
  addRow,
  type Connection,
  insertInto,
  mapResult,
} from '../../storage/driver/connection.js'

/** The reply to a row of a run on this machine. It has no lease and does not expire: its run discards it. */
interface RunReply {
  readonly status: number
  /** Credits charged with it. */
  readonly credits: number
  readonly body: string
}

const numberSql = 'SELECT number FROM reply_runs WHERE workspace_id = ? AND run = ?'
const addSql = 'INSERT INTO reply_runs (workspace_id, run) VALUES (?, ?) RETURNING number'
const replySql = 'SELECT status, credits, body FROM run_replies WHERE place = ?'
const replyColumns = ['place', 'status', 'credits', 'body']
const firstInsert = insertInto('run_replies', replyColumns)
const keepSql = insertInto('run_replies', replyColumns, 'ON CONFLICT DO NOTHING').sql
const dropSql = 'DELETE FROM run_replies WHERE place >= ? AND place < ?'

interface NumberedRun {
  readonly number: number
}

const nameOf = (workspaceId: string, run: string): string => `run ${workspaceId} ${run}`

/** Returns the stored reply to a row of a run. */
export async function findRunReply(
  tx: Connection,
  workspaceId: string,
  run: string,
  ordinal: number,
): Promise<RunReply | undefined> {
  const known = await tx.get<NumberedRun>(numberSql, workspaceId, run)
  return known && tx.get<RunReply>(replySql, toPlace(known.number, ordinal))
}

/**
 * Stores the reply to a row of a run unless it has one. Returns whether it did. When a `fresh` row has one, the
 * transaction fails.
 */
export function storeRunReply(
  tx: Connection,
  workspaceId: string,
  row: RunRow,
  reply: RunReply,
): Awaitable<boolean> {
  const known = tx.known.get(nameOf(workspaceId, row.run)) as NumberedRun | undefined
  return known
    ? store(tx, known, row, reply)
    : numberOf(tx, workspaceId, row.run).then((found) => store(tx, found, row, reply))
}

/** Returns the number of a run, assigned with its first reply. */
async function numberOf(tx: Connection, workspaceId: string, run: string): Promise<NumberedRun> {
  const known =
    (await tx.get<NumberedRun>(numberSql, workspaceId, run)) ??
    (await tx.get<NumberedRun>(addSql, workspaceId, run))
  if (!known) throw new Error('a run was not given a number')
  // Throws before the first row where a later one would have no place.
  placesOf(known.number)
  tx.known.set(nameOf(workspaceId, run), known)
  return known
}

function store(
  tx: Connection,
  run: NumberedRun,
  { ordinal, fresh }: RunRow,
  { status, credits, body }: RunReply,
): Awaitable<boolean> {
  const values = [toPlace(run.number, ordinal), status, credits, body]
  // A row that was never sent must not have a reply; if it does, the whole transaction fails.
  return fresh
    ? mapResult(addRow(tx, firstInsert, ...values), () => true)
    : mapResult(tx.run(keepSql, ...values), (changed) => changed > 0)
}

/** Deletes the replies to the rows of a run below an ordinal. */
export async function dropRunReplies(
  tx: Connection,
  workspaceId: string,
  run: string,
  before: number,
): Promise<number> {
  const known = await tx.get<NumberedRun>(numberSql, workspaceId, run)
  if (!known) return 0
  const to = toPlace(known.number, Math.min(before, rowsPerRun))
  return tx.run(dropSql, toPlace(known.number, 0), to)
}

/** Drops all replies to the rows of a run, of every workspace; returns how many. */
export async function dropRepliesOfRun(tx: Connection, run: string): Promise<number> {
  const found = await tx.all<NumberedRun>('SELECT number FROM reply_runs WHERE run = ?', run)
  let dropped = 0
  for (const { number } of found) dropped += await tx.run(dropSql, ...placesOf(number))
  await tx.run('DELETE FROM reply_runs WHERE run = ?', run)
  return dropped
}
