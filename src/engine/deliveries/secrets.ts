import { newSecret } from '../../api/webhooks/signature.js'
import type { Connection } from '../../storage/driver/connection.js'
import type { Ids } from '../ports/ports.js'
import { listSigningSecrets, type SigningSecret, setSigningSecrets } from '../tables/deliveries.js'

/** How long the old secret keeps signing after a rotation, in engine time. */
const overlapMs = 24 * 3_600_000

/** Returns the secrets that sign a workspace's deliveries, newest first; the first use creates one. */
export async function findOrCreateSecrets(
  tx: Connection,
  ids: Ids,
  workspaceId: string,
  now: number,
): Promise<string[]> {
  const valid = await readValidSecrets(tx, workspaceId, now)
  if (valid.length > 0) return valid
  const secret = newSecret(ids.bytes(secretBytes))
  await setSigningSecrets(tx, workspaceId, [{ secret, until: null }])
  return [secret]
}

const secretBytes = 32

/** Creates a new secret; the previous one stays valid for a day. Returns the new one. */
export async function rotateSecret(
  tx: Connection,
  ids: Ids,
  workspaceId: string,
  now: number,
): Promise<string> {
  const secret = newSecret(ids.bytes(secretBytes))
  const [old] = await readValidSecrets(tx, workspaceId, now)
  const until = now + overlapMs
  const before: SigningSecret[] = old === undefined ? [] : [{ secret: old, until }]
  await setSigningSecrets(tx, workspaceId, [{ secret, until: null }, ...before])
  return secret
}

/** Returns the secrets that sign now, newest first; none before the first use. */
export async function readValidSecrets(tx: Connection, workspaceId: string, now: number): Promise<string[]> {
  const secrets = await listSigningSecrets(tx, workspaceId)
  return secrets.filter(({ until }) => until === null || until > now).map(({ secret }) => secret)
}
