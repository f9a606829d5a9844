import type { Clock } from '../engine/ports/ports.js'

/** Whether a server supports idempotency keys, stored beyond this process. */
export interface Remembered {
  honours(): Promise<boolean | undefined>
  remember(honours: boolean): Promise<void>
}

/** Whether a server supports idempotency keys. */
export type IdempotencySupport = ReturnType<typeof createIdempotencySupport>

/** How long a server is not asked again after it could not be reached. */
const restMs = 10_000

/**
 * Creates the knowledge about a server's support: from a profile, an earlier replay, or the server's own report
 * (`probe`). A missing report holds for this process only, because servers are upgraded.
 */
export function createIdempotencySupport(
  remembered: Remembered | undefined,
  probe: () => Promise<boolean | undefined>,
  clock: Clock,
) {
  let known: boolean | undefined
  let asking: Promise<boolean> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  const learn = async (honours: boolean): Promise<void> => {
    if (known === honours) return
    known = honours
    if (honours) await remembered?.remember(honours)
  }
  const find = async (): Promise<boolean> => {
    const before = await remembered?.honours()
    if (before) known = true
    else {
      const said = await probe()
      if (said !== undefined) await learn(said)
    }
    return known === true
  }
  return {
    /** Returns the stored answer; asks the server when there is none. */
    ask: async (): Promise<boolean> => {
      if (known !== undefined) return known
      if (!asking || clock.now() - askedAt > restMs) {
        askedAt = clock.now()
        asking = find()
      }
      return asking
    },
    /** Records that a reply was replayed, which proves support. */
    seen: (): void => void learn(true),
  }
}
