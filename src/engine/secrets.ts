import { newSecret } from '../api/signature.js'
import type { Ids, SigningSecret, Transaction } from './ports.js'

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
  if (valid.length > 0) return valid.map(({ secret }) => secret)
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
  const old = (await validSecrets(tx, workspaceId, now)).slice(0, 1)
  const until = now + overlapMs
  await tx.setSigningSecrets(workspaceId, [{ secret, until: null }, ...old.map((one) => ({ ...one, until }))])
  return secret
}

async function validSecrets(tx: Transaction, workspaceId: string, now: number): Promise<SigningSecret[]> {
  const secrets = await tx.signingSecrets(workspaceId)
  return secrets.filter(({ until }) => until === null || until > now)
}
