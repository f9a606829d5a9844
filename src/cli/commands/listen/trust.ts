import { createHash } from 'node:crypto'
import type { GlobalOptions, StreamsContext, TargetContext } from '../../context/context.js'
import { givenSecrets, type SecretChoice, secretSource } from '../../options/webhook-secrets.js'

/** Whom a receiver believes. */
export interface Trust {
  /** Secrets that were given: what is signed with none of them is refused. */
  readonly secrets: readonly string[]
  /** Secrets of this machine's workspace: what they sign is verified, and the rest is kept all the same. */
  readonly known?: () => Promise<readonly string[]>
  /** The secret to show: that of this machine's workspace. One that was given is known to whoever gave it. */
  readonly secret: string | null
  /** Where the secret comes from. */
  readonly from: string | null
  /** What it means for what arrives, in a sentence. */
  readonly words: string
}

/** Reads the secrets that were given; without any, those of the workspace where this machine is the target. */
export async function trustOf(
  context: StreamsContext & TargetContext,
  choice: SecretChoice,
  globals: GlobalOptions,
): Promise<Trust> {
  const secrets = await givenSecrets(context.streams, choice)
  const from = secretSource(context.streams, choice) ?? null
  if (secrets.length > 0) {
    const prints = secrets.map(fingerprint).join(' and ')
    const words = `Signatures are checked with the secret of ${from} (SHA-256 ${prints}).`
    return { secrets, secret: null, from, words }
  }
  if (!context.isLocal(globals))
    return { secrets, secret: null, from, words: 'Signatures are not checked: no secret.' }
  return ownTrust(context, globals)
}

/** What this machine's workspace signs is verified; what others send is kept too, so nothing is refused. */
async function ownTrust(context: TargetContext, globals: GlobalOptions): Promise<Trust> {
  const admin = await context.admin(globals)
  const secret = await admin.webhookSecret(false)
  let last: readonly string[] = [secret]
  const known = async () => {
    // A rotation counts at once; a store that is busy is no reason to lose a delivery.
    last = await admin.webhookSecrets().catch(() => last)
    return last
  }
  const words =
    "What this machine's workspace signs is verified with the secret shown; the rest is not checked."
  return { secrets: [], known, secret, from: 'workspace', words }
}

/** Says which secret it is, and nothing of it. */
const fingerprint = (secret: string): string => createHash('sha256').update(secret).digest('hex').slice(0, 12)
