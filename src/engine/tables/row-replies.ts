import type { RunRow } from '../../api/calls/caller.js'
import { placesOf, rowsPerRun, toPlace } from '../../storage/database/row-places.js'
import { addRow, type Connection, insertInto, mapResult } from '../../storage/driver/connection.js'
import type { Reads, RunReply, Transaction } from '../ports/ports.js'

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
