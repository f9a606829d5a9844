import type { RunRow } from '../../api/calls/caller.js'
import type { Reads, RunReply, Transaction } from '../../engine/ports/ports.js'
import { addRow, type Connection, mapResult, type TablesSql } from '../driver/connection.js'
import { placeOf, rowsPerRun } from './row-place.js'

/** The replies to rows of runs. A run has a number here, so that the place of a row is one integer and needs no index. */
export const runReplies: TablesSql = ({ identity, integer, text }) => `
CREATE TABLE reply_runs (
  number ${identity},
  workspace_id ${text} NOT NULL,
  run ${text} NOT NULL,
  UNIQUE (workspace_id, run)
);
CREATE TABLE run_replies (
  place ${integer} PRIMARY KEY,
  status ${integer} NOT NULL,
  credits ${integer} NOT NULL,
  body ${text} NOT NULL
);
`

const numberSql = 'SELECT number FROM reply_runs WHERE workspace_id = ? AND run = ?'
const addSql = 'INSERT INTO reply_runs (workspace_id, run) VALUES (?, ?) RETURNING number'
const replySql = 'SELECT status, credits, body FROM run_replies WHERE place = ?'
const firstSql = 'INSERT INTO run_replies (place, status, credits, body) VALUES (?, ?, ?, ?)'
const keepSql = `${firstSql} ON CONFLICT DO NOTHING`
const dropSql = 'DELETE FROM run_replies WHERE place >= ? AND place < ?'

interface Numbered {
  readonly number: number
}

const nameOf = (workspaceId: string, run: string): string => `run ${workspaceId} ${run}`

/** Questions about rows of runs. */
export function runReplyReads(connection: Connection) {
  return {
    runReply: async (workspaceId, run, ordinal) => {
      const known = await connection.get<Numbered>(numberSql, workspaceId, run)
      return known && connection.get<RunReply>(replySql, placeOf(known.number, ordinal))
    },
  } satisfies Partial<Reads>
}

/** Changes to the replies of runs. */
export function runReplyWrites(connection: Connection) {
  /** The number of a run, given with its first reply; looked up once in a commit. */
  const numberOf = async (workspaceId: string, run: string): Promise<Numbered> => {
    const known =
      (await connection.get<Numbered>(numberSql, workspaceId, run)) ??
      (await connection.get<Numbered>(addSql, workspaceId, run))
    if (!known) throw new Error('a run was not given a number')
    // The places of all its rows are its own, or it has none.
    placeOf(known.number, rowsPerRun)
    connection.known.set(nameOf(workspaceId, run), known)
    return known
  }
  const keep = (run: Numbered, { ordinal, fresh }: RunRow, { status, credits, body }: RunReply) => {
    const values = [placeOf(run.number, ordinal), status, credits, body]
    // Where a row that was never sent has a reply all the same, the whole transaction fails.
    return fresh
      ? mapResult(addRow(connection, firstSql, ...values), () => true)
      : mapResult(connection.run(keepSql, ...values), (changed) => changed > 0)
  }
  return {
    keepRunReply: (workspaceId, row, reply) => {
      const known = connection.known.get(nameOf(workspaceId, row.run)) as Numbered | undefined
      return known
        ? keep(known, row, reply)
        : numberOf(workspaceId, row.run).then((found) => keep(found, row, reply))
    },
    dropRunReplies: async (workspaceId, run, before) => {
      const known = await connection.get<Numbered>(numberSql, workspaceId, run)
      return known
        ? connection.run(
            dropSql,
            placeOf(known.number, 0),
            placeOf(known.number, Math.min(before, rowsPerRun)),
          )
        : 0
    },
  } satisfies Partial<Transaction>
}
