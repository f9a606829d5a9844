import type { RunRow } from '../../api/calls/caller.js'
import { ApiError } from '../../api/calls/errors.js'
import { idempotencyTtlMs } from '../../api/operations/facts.js'
import { toJson } from '../../api/values/json.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { startHeartbeat } from '../clock.js'
import type { Ids } from '../ports/ports.js'
import {
  dropClaim,
  dropReplies,
  findReply,
  insertClaim,
  renewClaim,
  replaceClaim,
  type StoredReply,
  storeReply,
} from '../tables/replies.js'
import { storeRunReply } from '../tables/row-replies.js'

/** Expired replies that a claim may delete; more than it adds, so that none stay. */
const dropsPerClaim = 10
/** How long a claim lives without a heartbeat, and the interval of heartbeats; real time. */
const leaseMs = 30_000
const heartbeatMs = 10_000

/**
 * Returns the key in a header, bare or as a quoted string; `undefined` when there is none. Throws 400 for an invalid
 * one.
 */
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

/** What a claim needs of the engine. */
export interface ClaimPorts {
  readonly store: Driver
  readonly ids: Ids
  readonly realNow: () => number
}

/**
 * Claims a key for a request, or returns its stored reply. Throws 409 for a key of another request or of one that is
 * still running. The claim of a dead process expires with its lease.
 */
export async function claimKey(
  { store, ids, realNow }: ClaimPorts,
  workspaceId: string,
  key: string,
  fingerprint: string,
  now: number,
): Promise<{ replay: StoredReply } | { claim: Claim }> {
  const token = ids.uuid()
  const mine = { fingerprint, token, created_at: now, status: null, body: null }
  const replay = await store.transaction(async (tx) => {
    await dropReplies(tx, now - idempotencyTtlMs, dropsPerClaim)
    const found = await findReply(tx, workspaceId, key)
    const claim = { ...mine, lease_until: realNow() + leaseMs }
    if (!found && (await insertClaim(tx, workspaceId, key, claim))) return undefined
    if (!found) throw inProgressError()
    if (!isFree(found, realNow(), now)) return checkReplay(found, fingerprint)
    if (!(await replaceClaim(tx, workspaceId, key, found.token, claim))) throw inProgressError()
    return undefined
  }, workspaceId)
  return replay ? { replay } : { claim: createKeyClaim(store, workspaceId, key, token, realNow) }
}

/** The error of a second request while the first one with the same key is running. */
export const inProgressError = () => new ApiError('idempotency_in_progress', {}, { 'retry-after': '1' })

const isFree = (found: StoredReply, realNow: number, now: number): boolean =>
  found.status === null ? found.lease_until <= realNow : now - found.created_at >= idempotencyTtlMs

function checkReplay(found: StoredReply, fingerprint: string): StoredReply {
  if (found.fingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
  if (found.status === null) throw inProgressError()
  return found
}

function createKeyClaim(
  store: Driver,
  workspaceId: string,
  key: string,
  token: string,
  realNow: () => number,
): Claim {
  const heartbeat = startHeartbeat(heartbeatMs, () =>
    store.transaction((tx) => renewClaim(tx, workspaceId, key, token, realNow() + leaseMs), workspaceId),
  )
  return {
    effectsOnly: false,
    keep: async (tx, status, body) => {
      clearInterval(heartbeat)
      if (!(await storeReply(tx, workspaceId, key, token, status, toJson(body)))) throw inProgressError()
    },
    drop: async () => {
      clearInterval(heartbeat)
      await store.transaction((tx) => dropClaim(tx, workspaceId, key, token), workspaceId)
    },
  }
}

/**
 * Creates the claim of a row of a run on this machine. The run guarantees that a row always sends the same request,
 * and never twice at once, so claiming writes nothing. The reply is stored in the transaction of its charge; if one
 * exists already, both are undone. Only replies with a cost or stored data are kept.
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
      if (!(await storeRunReply(tx, workspaceId, row, { status, credits, body: text })))
        throw inProgressError()
    },
    drop: async () => {},
  }
}
