import { newSecret } from '../../api/webhooks/signature.js'
import type { Ids, Reads, SigningSecret, Transaction } from '../ports/ports.js'

/** How long the old secret signs along after a rotation, in engine time. */
const overlapMs = 24 * 3_600_000

/** What signs a workspace's deliveries now, newest first; the first use makes one. */
export async function secretsOf(
  tx: Transaction,
  ids: Ids,
  workspaceId: string,
  now: number,
): Promise<string[]> {
  const valid = await validSecrets(tx, workspaceId, now)
  if (valid.length > 0) return valid
  const secret = newSecret(ids.bytes(secretBytes))
  await tx.setSigningSecrets(workspaceId, [{ secret, until: null }])
  return [secret]
}

const secretBytes = 32

/** Makes a new secret; the one before stays valid for a day. Answers the new one. */
export async function rotateSecret(
  tx: Transaction,
  ids: Ids,
  workspaceId: string,
  now: number,
): Promise<string> {
  const secret = newSecret(ids.bytes(secretBytes))
  const [old] = await validSecrets(tx, workspaceId, now)
  const until = now + overlapMs
  const before: SigningSecret[] = old === undefined ? [] : [{ secret: old, until }]
  await tx.setSigningSecrets(workspaceId, [{ secret, until: null }, ...before])
  return secret
}

/** What signs now, newest first; nothing before the first use. */
export async function validSecrets(
  reads: Pick<Reads, 'signingSecrets'>,
  workspaceId: string,
  now: number,
): Promise<string[]> {
  const secrets = await reads.signingSecrets(workspaceId)
  return secrets.filter(({ until }) => until === null || until > now).map(({ secret }) => secret)
}
