import { rotateSecret, secretsOf, validSecrets } from '../deliveries/secrets.js'
import { type AdminPorts, current } from './ports.js'

/** What the engine's owner can see and do about the secrets that sign deliveries. */
export const webhookSecretAdmin = ({ store, clock, ids }: AdminPorts) => ({
  /** What signs the deliveries of the workspace; after a rotation the one before stays valid for a day. */
  webhookSecret: (rotate: boolean): Promise<string> =>
    store.transaction(async (tx) => {
      const { workspace, now } = await current(tx, clock)
      if (rotate) return rotateSecret(tx, ids, workspace.id, now)
      const [secret = ''] = await secretsOf(tx, ids, workspace.id, now)
      return secret
    }),
  /** All that sign now, newest first; none before the first use. */
  webhookSecrets: (): Promise<readonly string[]> =>
    store.read(async (reads) => {
      const { workspace, now } = await current(reads, clock)
      return validSecrets(reads, workspace.id, now)
    }),
})
