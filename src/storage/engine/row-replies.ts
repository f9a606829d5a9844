import type { RunRow } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Reads, RunReply, Transaction } from '../../engine/ports/ports.js'
import { addRow, type Connection, insertInto, mapResult } from '../driver/connection.js'

/** Maximum number of rows of a run. A place is the number of the run times this, plus the ordinal of the row. */
export const rowsPerRun = 2 ** 32

/** Returns the place of a row. Throws when it is no safe integer, since two rows could then share a place. */
export function toPlace(run: number, ordinal: number): number {
  const place = run * rowsPerRun + ordinal
  if (place > Number.MAX_SAFE_INTEGER)
    throw new ApiError('storage_failed', {
      reason: `it has had ${run.toLocaleString('en')} runs, and more cannot be numbered`,
    })
  return place
}

/** Returns the number of the run that a place belongs to. */
export const toRunNumber = (place: number): number => Math.floor(place / rowsPerRun)

/** Returns the first place of a run and the first one after it. */
export const placesOf = (run: number): [number, number] => [toPlace(run, 0), toPlace(run + 1, 0)]

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

/** Returns the reads of replies to rows. */
export function runReplyReads(connection: Connection) {
  return {
    runReply: async (workspaceId, run, ordinal) => {
      const known = await connection.get<NumberedRun>(numberSql, workspaceId, run)
      return known && connection.get<RunReply>(replySql, toPlace(known.number, ordinal))
    },
  } satisfies Partial<Reads>
}

/** Returns the changes of replies to rows. */
export function runReplyWrites(connection: Connection) {
  /** Returns the number of a run, assigned with its first reply. */
  const numberOf = async (workspaceId: string, run: string): Promise<NumberedRun> => {
    const known =
      (await connection.get<NumberedRun>(numberSql, workspaceId, run)) ??
      (await connection.get<NumberedRun>(addSql, workspaceId, run))
    if (!known) throw new Error('a run was not given a number')
    // Throws before the first row where a later one would have no place.
    placesOf(known.number)
    connection.known.set(nameOf(workspaceId, run), known)
    return known
  }
  const keep = (run: NumberedRun, { ordinal, fresh }: RunRow, { status, credits, body }: RunReply) => {
    const values = [toPlace(run.number, ordinal), status, credits, body]
    // A row that was never sent must not have a reply; if it does, the whole transaction fails.
    return fresh
      ? mapResult(addRow(connection, firstInsert, ...values), () => true)
      : mapResult(connection.run(keepSql, ...values), (changed) => changed > 0)
  }
  return {
    keepRunReply: (workspaceId, row, reply) => {
      const known = connection.known.get(nameOf(workspaceId, row.run)) as NumberedRun | undefined
      return known
        ? keep(known, row, reply)
        : numberOf(workspaceId, row.run).then((found) => keep(found, row, reply))
    },
    dropRunReplies: async (workspaceId, run, before) => {
      const known = await connection.get<NumberedRun>(numberSql, workspaceId, run)
      if (!known) return 0
      const to = toPlace(known.number, Math.min(before, rowsPerRun))
      return connection.run(dropSql, toPlace(known.number, 0), to)
    },
    dropRepliesOfRun: async (run) => {
      const found = await connection.all<NumberedRun>('SELECT number FROM reply_runs WHERE run = ?', run)
      let dropped = 0
      for (const { number } of found) dropped += await connection.run(dropSql, ...placesOf(number))
      await connection.run('DELETE FROM reply_runs WHERE run = ?', run)
      return dropped
    },
  } satisfies Partial<Transaction>
}
