import type { RunRow } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { idempotencyTtlMs } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import type { Ids } from '../../api/ports/ports.js'
import { toJson } from '../../api/values/json.js'
import type { Awaitable } from '../../api/values/objects.js'
import {
  addRow,
  type Connection,
  type Driver,
  insertInto,
  isStorageFault,
  mapResult,
  placesOf,
  rowsPerRun,
  toPlace,
} from '../../storage/driver/connection.js'
import { startHeartbeat } from '../clock.js'
import type { Principal } from '../tables/members.js'
import {
  claimMs,
  dropClaim,
  dropReplies,
  findReply,
  insertClaim,
  renewClaim,
  replaceClaim,
  type StoredReply,
  storeReply,
} from '../tables/replies.js'
import { acceptJob, type NewJob } from './accept.js'
import { type Bill, charge } from './charge.js'

/** A request on its way through the checks. */
export interface Request {
  readonly operation: Operation
  readonly principal: Principal
  /** Engine time. */
  readonly now: number
  readonly input: Record<string, unknown>
  readonly topUpUrl: string
}

export function billOf({ principal, operation, topUpUrl }: Request, credits: number): Bill {
  const { workspace, member } = principal
  return { workspace, member, operation: operation.id, credits, topUpUrl }
}

interface WorkResult {
  readonly credits: number
  readonly status: number
  readonly body: unknown
  readonly keep?: ((tx: Connection) => Awaitable<void>) | undefined
  readonly job?: NewJob | undefined
}

/** Writes stored data, charge and stored reply in one transaction. */
export function settleRequest(
  store: Driver,
  request: Request,
  { credits, status, body, keep, job }: WorkResult,
  claim: Claim | undefined,
): Promise<void> {
  return store
    .transaction(
      async (tx) => {
        if (keep) await keep(tx)
        if (job) await acceptJob(tx, billOf(request, 0), job, request.now)
        if (credits > 0) await charge(tx, billOf(request, credits), request.now)
        if (claim) await claim.keep(tx, status, body, credits)
      },
      request.principal.workspace.id,
      'short',
    )
    .catch((error: unknown) => {
      throw isStorageFault(error, 'already_there') ? inProgressError() : error
    })
}

/** Of so many claims that share a commit one deletes expired replies, and more than they add, so that none stay. */
const claimsPerDrop = 10
const dropsAtOnce = 20

/** Returns the key in a header, bare or quoted; `undefined` when there is none. Throws 400 for an invalid one. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const quoted = /^"(.*)"$/.exec(header.trim())
  const key = quoted?.[1] ?? header.trim()
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new ApiError('invalid_idempotency_key')
  return key
}

/** The right to answer a key, held until the reply is stored or the claim dropped. */
export interface Claim {
  /** Whether a reply without cost and without stored data need not be stored. */
  readonly effectsOnly: boolean
  /** The body as stored, for a caller that stores it too. */
  readonly text?: string | undefined
  /** Stores the reply in the transaction of its effect; throws when the claim was lost meanwhile. */
  keep(tx: Connection, status: number, body: unknown, credits: number): Promise<void>
  /** Frees the key, when nothing happened that must not happen twice. */
  drop(): Promise<void>
}

export interface ClaimPorts {
  readonly store: Driver
  readonly ids: Ids
}

/**
 * Claims a key for a request, or returns its stored reply. Throws 409 for a key of another request or of one that is
 * still running. The claim of a dead process expires with its lease.
 */
export async function claimKey(
  { store, ids }: ClaimPorts,
  workspaceId: string,
  key: string,
  fingerprint: string,
  now: number,
): Promise<{ replay: StoredReply } | { claim: Claim }> {
  const token = ids.uuid()
  const of = { workspaceId, key, token }
  const replay = await store.transaction(
    async (tx) => {
      await dropExpired(tx, now)
      const claim = { fingerprint, token, created_at: now }
      if (await insertClaim(tx, of, claim)) return undefined
      const found = await findReply(tx, workspaceId, key)
      if (!found) throw inProgressError()
      if (!isFree(found, now)) return checkReplay(found, fingerprint)
      if (!(await replaceClaim(tx, { ...of, token: found.token }, claim))) throw inProgressError()
      return undefined
    },
    workspaceId,
    'short',
  )
  return replay ? { replay } : { claim: createKeyClaim(store, of) }
}

async function dropExpired(tx: Connection, now: number): Promise<void> {
  const claims = (tx.known.get('claims') as number | undefined) ?? 0
  tx.known.set('claims', claims + 1)
  if (claims % claimsPerDrop === 0) await dropReplies(tx, now - idempotencyTtlMs, dropsAtOnce)
}

/** The error of a second request while the first one with the same key is running. */
export const inProgressError = () => new ApiError('idempotency_in_progress', {}, { 'retry-after': '1' })

const isFree = (found: StoredReply, now: number): boolean =>
  found.status === null ? found.free === 1 : now - found.created_at >= idempotencyTtlMs

function checkReplay(found: StoredReply, fingerprint: string): StoredReply {
  if (found.fingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
  if (found.status === null) throw inProgressError()
  return found
}

function createKeyClaim(store: Driver, of: Parameters<typeof renewClaim>[1]): Claim {
  const { workspaceId } = of
  const heartbeat = startHeartbeat(claimMs / 3, () =>
    store.transaction((tx) => renewClaim(tx, of), workspaceId, 'short'),
  )
  return {
    effectsOnly: false,
    keep: async (tx, status, body) => {
      clearInterval(heartbeat)
      if (!(await storeReply(tx, of, status, toJson(body)))) throw inProgressError()
    },
    drop: async () => {
      clearInterval(heartbeat)
      await store.transaction((tx) => dropClaim(tx, of), workspaceId, 'short')
    },
  }
}

/**
 * Creates the claim of a row of a run on this machine. The run guarantees that a row always sends the same request,
 * and never twice at once, so claiming writes nothing. The reply is stored in the transaction of its charge; if one
 * exists already, both are undone, unless it is the one that is replaced, for nothing. Only replies with a cost or stored data
 * are kept.
 */
export function createRowClaim(workspaceId: string, row: RunRow, replaced?: RunReply): Claim {
  let text: string | undefined
  return {
    effectsOnly: true,
    get text() {
      return text
    },
    keep: async (tx, status, body, credits) => {
      text ??= toJson(body)
      if (replaced) await dropRunReply(tx, workspaceId, row, replaced)
      if (!(await storeRunReply(tx, workspaceId, row, { status, credits, body: text })))
        throw inProgressError()
    },
    drop: async () => {},
  }
}

/** The reply to a row of a run on this machine. It has no lease and does not expire: its run discards it. */
interface RunReply {
  readonly status: number
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

export async function findRunReply(tx: Connection, workspaceId: string, run: string, ordinal: number) {
  const known = await tx.get<NumberedRun>(numberSql, workspaceId, run)
  return known && tx.get<RunReply>(replySql, toPlace(known.number, ordinal))
}

/** Stores the reply to a row of a run unless it has one; returns whether it did. Throws when a `fresh` row has one. */
export function storeRunReply(tx: Connection, workspaceId: string, row: RunRow, reply: RunReply) {
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
  if (!fresh) return mapResult(tx.run(keepSql, ...values), (changed) => changed > 0)
  const added = addRow(tx, firstInsert, ...values)
  return added instanceof Promise ? added.then(() => true) : true
}

/** Stands for the reply to a row that no answer is given to any more, whoever asks. */
const concluded = { status: 0, credits: 0, body: '' } as const

export const isConcluded = ({ status }: { readonly status: number }): boolean => status === concluded.status

/** Returns the stored reply to each of some rows. One without a reply gets none from now on: whoever still asks is refused. */
export async function concludeRows(tx: Connection, workspaceId: string, rows: readonly RunRow[]) {
  const replies: (RunReply | undefined)[] = []
  for (const row of rows) {
    const isNew = await storeRunReply(tx, workspaceId, { ...row, fresh: false }, concluded)
    const found = isNew ? undefined : await findRunReply(tx, workspaceId, row.run, row.ordinal)
    replies.push(found && isConcluded(found) ? undefined : found)
  }
  return replies
}

/** Has the rows of a run answered again that were concluded. */
export async function reopenRows(tx: Connection, workspaceId: string, run: string): Promise<void> {
  const known = await tx.get<NumberedRun>(numberSql, workspaceId, run)
  if (known) await tx.run(`${dropSql} AND status = ?`, ...placesOf(known.number), concluded.status)
}

async function dropRunReply(tx: Connection, workspaceId: string, { run, ordinal }: RunRow, reply: RunReply) {
  const known = await tx.get<NumberedRun>(numberSql, workspaceId, run)
  const sql = 'DELETE FROM run_replies WHERE place = ? AND credits = 0 AND body = ?'
  if (known) await tx.run(sql, toPlace(known.number, ordinal), reply.body)
}

/** Deletes the replies to the rows of a run below an ordinal. */
export async function dropRunReplies(tx: Connection, workspaceId: string, run: string, before: number) {
  const known = await tx.get<NumberedRun>(numberSql, workspaceId, run)
  if (!known) return 0
  const [from, end] = placesOf(known.number)
  return tx.run(dropSql, from, before < rowsPerRun ? toPlace(known.number, before) : end)
}

/** Drops all replies to the rows of a run, of every workspace; returns how many. */
export async function dropRepliesOfRun(tx: Connection, run: string): Promise<number> {
  const found = await tx.all<NumberedRun>('SELECT number FROM reply_runs WHERE run = ?', run)
  let dropped = 0
  for (const { number } of found) dropped += await tx.run(dropSql, ...placesOf(number))
  await tx.run('DELETE FROM reply_runs WHERE run = ?', run)
  return dropped
}
