import type { CallMember } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { parseExact, toJson } from '../../api/values/json.js'
import type { Connection } from '../../storage/driver/connection.js'
import { dropClaim, findReply, insertClaim, replaceClaim, storeReply } from '../tables/replies.js'

/** How long a server is expected to keep idempotency keys. */
const keptMs = 86_400_000

/** What was sent to a server under a key: the `limit` in place of that of the request, if the week permitted only a part. */
interface SentKey {
  readonly limit?: number
}

/** Returns what a member sent to a server under a key that the server still knows; `undefined` where nothing was. */
export async function findSentKey(
  tx: Connection,
  { workspaceId }: CallMember,
  key: string,
  now: number,
): Promise<SentKey | undefined> {
  const known = await findReply(tx, workspaceId, key)
  return known && now - known.created_at < keptMs ? (parseExact(known.body ?? '{}') as SentKey) : undefined
}

/** Keeps that a request is sent to a server under a key, in place of what was sent under it long ago. */
export async function keepSentKey(
  tx: Connection,
  { id: token, workspaceId }: CallMember,
  key: string,
  row: Operation,
  limit: number | undefined,
  now: number,
): Promise<void> {
  const claim = { fingerprint: row.id, status: row.ok, body: null, token, lease_until: 0, created_at: now }
  const known = await findReply(tx, workspaceId, key)
  if (known) await replaceClaim(tx, workspaceId, key, known.token, claim)
  else await insertClaim(tx, workspaceId, key, claim)
  await storeReply(tx, workspaceId, key, token, row.ok, toJson({ limit }))
}

/** Forgets a key whose request had no effect, which may be sent again. */
export async function forgetSentKey(
  tx: Connection,
  { id, workspaceId }: CallMember,
  key: string,
): Promise<void> {
  const claim = { fingerprint: '', status: null, body: null, token: id, lease_until: 0, created_at: 0 }
  if (await replaceClaim(tx, workspaceId, key, id, claim)) await dropClaim(tx, workspaceId, key, id)
}
