import { hash } from 'node:crypto'
import type { RunRow } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import type { Operation } from '../../api/operations/table.js'
import { toJson } from '../../api/values/json.js'
import type { Ids, Store, StoredReply, Transaction } from '../ports/ports.js'

/** How long a stored reply is kept, in engine time. */
export const keptMs = 72 * 3_600_000
/** Replies that a claim may delete because their time is over; more than it adds, so that none stay. */
const dropsPerClaim = 10
/** How long a claim lives without a sign of life, and how often the sign is given; real time. */
const leaseMs = 30_000
const heartbeatMs = 10_000

/** The key in a header, bare or as a quoted string; undefined when there is none, 400 when it is not one. */
export function idempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const quoted = /^"(.*)"$/.exec(header.trim())
  const key = quoted?.[1] ?? header.trim()
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new ApiError('invalid_idempotency_key')
  return key
}

/** What makes two requests the same: operation and fields, whatever the order of their keys. */
export const fingerprintOf = (operation: Operation, fields: unknown): string =>
  hash('sha256', `${operation.method} ${operation.path} ${canonical(fields)}`, 'base64url')

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return toJson(value)
  const fields = value as Record<string, unknown>
  const members = Object.keys(fields)
    .filter((name) => fields[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(fields[name])}`)
  return `{${members.join(',')}}`
}

/** The right to answer a key, held until the reply is kept or the claim dropped. */
export interface Claim {
  /** Whether a reply that cost nothing and left nothing behind need not be kept. */
  readonly effectsOnly: boolean
  /** The body as it was kept, for whoever keeps it too. */
  readonly text?: string | undefined
  /** Keeps the reply in the transaction of its effect; refuses when the claim was lost meanwhile. */
  keep(tx: Transaction, status: number, body: unknown, credits: number): Promise<void>
  /** Frees the key: nothing happened that must not happen twice. */
  drop(): Promise<void>
}

/** What a key needs of the engine. */
export interface ClaimPorts {
  readonly store: Store
  readonly ids: Ids
  readonly realNow: () => number
}

/**
 * Claims a key for a request, or answers its stored reply. A key of another request is refused (409), and so
 * is one whose request is still running; the claim of a process that died frees itself after its lease.
 */
export async function claimKey(
  { store, ids, realNow }: ClaimPorts,
  workspaceId: string,
  key: string,
  fingerprint: string,
  now: number,
): Promise<{ replay: StoredReply } | { claim: Claim }> {
  const token = ids.uuid()
  const mine = { fingerprint, token, createdAt: now, status: null, body: null }
  const replay = await store.transaction(async (tx) => {
    await tx.dropReplies(now - keptMs, dropsPerClaim)
    const found = await tx.reply(workspaceId, key)
    const claim = { ...mine, leaseUntil: realNow() + leaseMs }
    if (!found && (await tx.claim(workspaceId, key, claim))) return undefined
    if (!found) throw inProgressError()
    if (!isFree(found, realNow(), now)) return checkReplay(found, fingerprint)
    if (!(await tx.reclaim(workspaceId, key, found.token, claim))) throw inProgressError()
    return undefined
  }, workspaceId)
  return replay ? { replay } : { claim: heldClaim(store, workspaceId, key, token, realNow) }
}

/** What a second request under a key is told while the first is running. */
export const inProgressError = () => new ApiError('idempotency_in_progress', {}, { 'retry-after': '1' })

const isFree = (found: StoredReply, realNow: number, now: number): boolean =>
  found.status === null ? found.leaseUntil <= realNow : now - found.createdAt >= keptMs

function checkReplay(found: StoredReply, fingerprint: string): StoredReply {
  if (found.fingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
  if (found.status === null) throw inProgressError()
  return found
}

function heldClaim(
  store: Store,
  workspaceId: string,
  key: string,
  token: string,
  realNow: () => number,
): Claim {
  const heartbeat = setInterval(() => {
    // A missed heartbeat is no failure: the fencing token decides when the reply is kept.
    store
      .transaction((tx) => tx.renewClaim(workspaceId, key, token, realNow() + leaseMs), workspaceId)
      .catch(() => undefined)
  }, heartbeatMs)
  heartbeat.unref()
  return {
    effectsOnly: false,
    keep: async (tx, status, body) => {
      clearInterval(heartbeat)
      if (!(await tx.keepReply(workspaceId, key, token, status, toJson(body)))) throw inProgressError()
    },
    drop: async () => {
      clearInterval(heartbeat)
      await store.transaction((tx) => tx.dropClaim(workspaceId, key, token), workspaceId)
    },
  }
}

/**
 * The claim of a row of a run on this machine. The run sees to it that a row asks the same whenever it is sent, and is
 * never under way twice, so a claim takes nothing: the reply is kept in the transaction of its charge, and where one is
 * there already, charge and reply are undone together. Only what cost or left something is kept; the rest may be asked
 * again.
 */
export function createRowClaim(workspaceId: string, row: RunRow): Claim {
  let text: string | undefined
  return {
    effectsOnly: true,
    get text() {
      return text
    },
    keep: async (tx, status, body, credits) => {
      text ??= toJson(body)
      if (!(await tx.keepRunReply(workspaceId, row, { status, credits, body: text }))) throw inProgressError()
    },
    drop: async () => {},
  }
}
