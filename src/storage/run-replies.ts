import type { Reads, RunReply, Transaction } from '../engine/ports.js'
import type { Connection } from './driver.js'

/** The replies to rows of runs; the rows of the table are far larger than a key, which therefore is its own index. */
export const runReplies = `
CREATE TABLE run_replies (
  id INTEGER PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  run TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER NOT NULL,
  credits INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (workspace_id, run, ordinal)
);
`

const replySql = `
SELECT fingerprint, status, credits, body FROM run_replies WHERE workspace_id = ? AND run = ? AND ordinal = ?`
const keepSql = `
INSERT INTO run_replies (workspace_id, run, ordinal, fingerprint, status, credits, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (workspace_id, run, ordinal) DO NOTHING`
const dropSql = 'DELETE FROM run_replies WHERE workspace_id = ? AND run = ? AND ordinal < ?'

/** Questions about rows of runs. */
export function runReplyReads(connection: Connection) {
  return {
    runReply: (workspaceId, run, ordinal) => connection.get<RunReply>(replySql, workspaceId, run, ordinal),
  } satisfies Partial<Reads>
}

/** Changes to the replies of runs. */
export function runReplyWrites(connection: Connection) {
  return {
    keepRunReply: async (workspaceId, run, ordinal, { fingerprint, status, credits, body }) =>
      (await connection.run(keepSql, workspaceId, run, ordinal, fingerprint, status, credits, body)) > 0,
    dropRunReplies: (workspaceId, run, before) => connection.run(dropSql, workspaceId, run, before),
  } satisfies Partial<Transaction>
}
